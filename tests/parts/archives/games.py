"""Small games, and functions that read them back from archives."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from slpstream.model.errors import FormatError
from slpstream.parts.archives.members import members
from slpstream.system.member_paths import path_text
from tests.formats.slippi.built import Built
from tests.parts.archives.packing import KINDS

ENDINGS = (".slp", ".slplog")


def game(number: int = 0) -> bytes:
    """A small replay, with a different game for each number."""
    return Built((3, 18, number)).frames(-123, -110 + number).end().closed()


GAMES = {"a.slp": game(0), "deeper/b.slp": game(1), "deeper/ü c.slp": game(2)}


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def read(path: Path) -> tuple[dict[str, bytes], list[str]]:
    """The replays by their names in the archive, and the problems as a user sees them."""
    found: dict[str, bytes] = {}
    problems: list[str] = []
    for member in members(path, ENDINGS):
        name = path_text(member.path).removeprefix(f"{path}::")
        problem = member.problem
        try:
            if problem is None:
                found[name] = member.read()
        except (OSError, FormatError) as error:
            problem = error.strerror if isinstance(error, OSError) else str(error)
        if problem is not None:
            problems.append(f"{name}: {problem}")
    return found, problems


@cache
def packed_once(kind: str) -> bytes:
    """The same bytes for each call; py7zr stores the time."""
    return KINDS[kind](GAMES)
