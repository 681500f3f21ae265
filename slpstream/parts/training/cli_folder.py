"""The folder of a training set.

We need to know which of the files in it were made by an export, because only these can be continued or removed.
"""

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
    """Create the folder. If an export with the same plan has left it unfinished, it is accepted too.

    We never remove any files except for those that were made by an export. If there are other files with the same
    names, this refuses the folder with exit code 2.
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
    """Remove everything that we only need as long as an export isn't finished."""
    for file in [file for file, _ in _named(out, "training") if file.parent.name == PARTS]:
        file.unlink()
    with suppress(OSError):  # somebody else's files are in it
        (out / PARTS).rmdir()
    (out / PLAN).unlink()


def _check(out: Path, layout: str, replays: Sequence[Path], made: set[Path], *, has_games: bool) -> None:
    """If a new export would replace files of someone else, or remove its own replays, exit with code 2."""
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
    """Return the layout of the export that has written this plan or index.

    If it wasn't written by one, this is empty.
    """
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(content, dict) or not isinstance(content.get("form"), int):
        return ""
    return next((layout for layout in _NAMES if layout == content.get("layout")), "")


def _named(out: Path, layout: str) -> Iterator[tuple[Path, bool]]:
    """Yield those files whose names look as if an export with this layout has given them, and whether each was left
    unfinished.
    """
    for folder in (out, out / PARTS, out / GAMES):
        for path in sorted(folder.glob("*")):
            unfinished = _UNFINISHED.fullmatch(path.name)
            final = path if unfinished is None else path.with_name(unfinished[1])
            if _NAMES[layout].fullmatch(final.relative_to(out).as_posix()):
                yield path, unfinished is not None


def _is_made(file: Path) -> bool:
    """Whether a file that has the right name, in a folder with an export, really belongs to the export."""
    if file.is_symlink() or not file.is_file():
        return False
    return file.name not in (PLAN, INDEX) or bool(_layout_of(file))
