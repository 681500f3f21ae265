"""Those files of a training set that describe its shards: the lists of its parts, and the index.

An export is divided into parts, and the shards of each part are written by one worker. The main process then waits
until they are on the disk. Only after that, it writes a list of the games in the part, which makes the part complete.
If a run was killed, some parts might not have a list, and these are written again. The content of a part only depends
on its replays and the options. So even if a run is killed many times, you get the same files in the end.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from slpstream.formats.slippi.game_start import Settings
from slpstream.parts.training.columns import COLUMNS
from slpstream.parts.training.names import INDEX, PARTS

ARROW_TYPES = {"f4": "float", "u1": "uint8", "i1": "int8", "u2": "uint16", "u4": "uint32", "i4": "int32"}
"""The types of columns by their names in numpy, in the order in which they are in a shard."""


class WrittenPart(NamedTuple):
    """A part whose files were written. They might not have arrived on the disk yet."""

    number: int
    files: tuple[str, ...]
    """Paths below the folder of the set."""
    games: list[dict[str, Any]]
    """The entries of the games in the index."""
    problems: list[tuple[int, str]]
    """Exit codes and messages."""


def game_name(game_id: str, settings: Settings) -> str:
    """Return a key that is the same for all copies of a game. It is its number in an online session or, if there isn't
    one, its id.

    We don't always use the id because it also depends on the names of the players, and these are missing in anonymised
    copies.
    """
    match = settings.match_info
    if not match.session_id:
        return game_id
    return f"{match.session_id}:{match.game_number or 0}:{match.tiebreaker_number or 0}"  # UNSET is false


def split_of(game: str, *, seed: int, validation: float) -> str:
    """Return `validation` for this share of all games, and `train` for the others.

    This only depends on the seed and the name.
    """
    digest = hashlib.sha256(f"{seed}:{game}".encode()).digest()
    return "validation" if int.from_bytes(digest[:6]) < validation * (1 << 48) else "train"


def complete_part(folder: Path, part: WrittenPart) -> None:
    """Make sure that all files of the given part are on the disk, and then complete it by writing the list of its
    games.

    Raises `OSError` if that fails.
    """
    paths = [folder / file for file in part.files]
    for path in (*paths, *dict.fromkeys(path.parent for path in paths)):
        sync(path)
    write_whole(list_of(folder, part.number), json.dumps({"games": part.games, "problems": part.problems}, indent=1))


def list_of(folder: Path, number: int) -> Path:
    """Return the path of the file with the games of a part."""
    return folder / PARTS / f"part-{number:05}.json"


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically, which also works if there's a power cut. Raises `OSError` if it fails."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    sync(temporary)
    temporary.replace(path)


def sync(path: Path) -> None:
    """Flush a file to the disk or, if it's a folder, the names in it. Raises `OSError` if it fails."""
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":
        return  # which cannot open folders
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def listed(folder: Path, parts: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the games of all parts, and the exit code and message of each problem with a replay. Raises `OSError`."""
    lists = [json.loads(list_of(folder, number).read_text(encoding="utf-8")) for number in range(parts)]
    games = [game for part in lists for game in part["games"]]
    return games, [{"code": code, "message": message} for part in lists for code, message in part["problems"]]


def finish_set(folder: Path, parts: int, description: Mapping[str, Any]) -> dict[str, Any]:
    """Write the index of a set, and return it. All parts must already be complete. Raises `OSError` if it fails."""
    games, problems = listed(folder, parts)
    index = {
        **description,
        "columns": [
            {"name": c.name, "type": ARROW_TYPES[c.dtype], "doc": c.doc, "unit": c.unit, "since": c.since}
            for c in COLUMNS
        ],
        "frames": sum(game["frames"] for game in games),
        "games": games,
        "problems": problems,
    }
    write_whole(folder / INDEX, json.dumps(index, indent=1))
    sync(folder)
    return index
