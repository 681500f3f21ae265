"""The folder of a training set: which files in it an export has made, and may continue or remove."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from slpstream.cli import fail
from slpstream.parts.training.names import GAMES, INDEX, PARTS
from slpstream.parts.training.parts import sync, write_whole

PLAN = "plan.json"

_SLIPPI_AI = "slippi-ai"
_NAMES = {
    "training": re.compile(r"(index|plan)\.json|parts/part-\d{5,}\.json|shard-\d{5,}-\d{3,}\.arrow"),
    _SLIPPI_AI: re.compile(r"(index|plan|meta)\.json|parts/part-\d{5,}\.json|games/[0-9a-f]{32}"),
}
"""The names that exports give to their files, by layout."""
_UNFINISHED = re.compile(r"\.(.+)\.tmp")


def prepare(out: Path, wanted: dict[str, Any], replays: Sequence[Path], *, overwrite: bool) -> None:
    """Create the folder, or accept one that an unfinished export with the same plan has left.

    Only files that an export has made are ever removed. A folder in which others have their names is refused, with exit
    code 2.
    """
    plan, index = out / PLAN, out / INDEX
    layouts = {layout for file in (plan, index) if (layout := _layout_of(file))}
    if layouts and not overwrite:
        if not plan.exists():
            fail(f"{out}: holds an earlier export; use --overwrite to remove it", 2)
        if json.loads(plan.read_bytes()) != json.loads(json.dumps(wanted)):
            fail(f"{out}: holds part of another export, of other replays or options; use --overwrite to remove it", 2)
        for file in [file for file, unfinished in _named(out, wanted["layout"]) if unfinished]:
            file.unlink()
        (out / PARTS).mkdir(exist_ok=True)
        return
    made = {file for layout in layouts for file, _ in _named(out, layout) if _is_made(file)}
    _check(out, wanted["layout"], replays, made, has_games=_SLIPPI_AI in layouts)
    # A kill in between leaves the plan of another export, and never an index without its shards.
    if index in made and plan not in made:
        index.replace(plan)
        made.remove(index)
    for file in sorted(made - {plan}, key=lambda file: (file.parent.name != PARTS, file != index)):
        file.unlink(missing_ok=True)
    (out / PARTS).mkdir(parents=True, exist_ok=True)
    if wanted["layout"] == _SLIPPI_AI:
        (out / GAMES).mkdir(exist_ok=True)
    write_whole(plan, json.dumps(wanted))
    sync(out)


def tidy(out: Path) -> None:
    """Remove what only an unfinished export needs."""
    for file in [file for file, _ in _named(out, "training") if file.parent.name == PARTS]:
        file.unlink()
    with suppress(OSError):  # somebody else's files are in it
        (out / PARTS).rmdir()
    (out / PLAN).unlink()


def _check(out: Path, layout: str, replays: Sequence[Path], made: set[Path], *, has_games: bool) -> None:
    """Exit with code 2 where a new export would replace files of others, or remove its own replays."""
    in_the_way = [file for file, unfinished in _named(out, layout) if not unfinished and file not in made]
    if layout == _SLIPPI_AI and not has_games:
        in_the_way += sorted((out / GAMES).glob("*"))
    if in_the_way:
        fail(f"{in_the_way[0]}: not made by an export to this folder, and therefore kept; use another folder", 2)
    removed = {file.resolve() for file in made}
    for file in replays if removed else ():
        if file.resolve() in removed:
            fail(f"{file}: would be removed before it is read; use another folder", 2)


def _layout_of(file: Path) -> str:
    """The layout of the export that has written this plan or index; empty if none has."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(content, dict) or not isinstance(content.get("form"), int):
        return ""
    return next((layout for layout in _NAMES if layout == content.get("layout")), "")


def _named(out: Path, layout: str) -> Iterator[tuple[Path, bool]]:
    """The files whose names exports with this layout give, and whether each is a file that was not finished."""
    for folder in (out, out / PARTS, out / GAMES):
        for path in sorted(folder.glob("*")):
            unfinished = _UNFINISHED.fullmatch(path.name)
            final = path if unfinished is None else path.with_name(unfinished[1])
            if _NAMES[layout].fullmatch(final.relative_to(out).as_posix()):
                yield path, unfinished is not None


def _is_made(file: Path) -> bool:
    """Whether a file with such a name, in a folder with an export, is one of the export's files."""
    if file.is_symlink() or not file.is_file():
        return False
    return file.name not in (PLAN, INDEX) or bool(_layout_of(file))
