"""`slpstream import-pictures`: copy the pictures of another stream tool into an overlay folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, fail
from slpstream.cli.atomic_file import write_atomically
from slpstream.parts.pictures.folders import TOOLS, Picture, pictures, tool_of
from slpstream.system.files import read_regular


@click.command("import-pictures")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--from", "tool", type=click.Choice(TOOLS), help="The tool. Found from the folder by default.")
@click.option(
    "--into",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder of `web.overlay_folder`. It is made if it does not exist.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing pictures.")
def command(folder: Path, tool: str | None, into: Path, overwrite: bool) -> None:
    """Copy the pictures of characters and stages in FOLDER, which belongs to Melee Stream Tool or to
    TournamentStreamHelper, into an overlay folder."""
    if not folder.is_dir():
        fail(f"{folder} is not a folder", EXIT_INPUT_OUTPUT)
    try:
        chosen = tool or tool_of(folder)
        found = [] if chosen is None else pictures(folder, chosen)
    except (OSError, ValueError) as error:
        fail(f"{folder} cannot be read: {error}", EXIT_INPUT_OUTPUT)
    if chosen is None:
        fail(f"{folder} is not a folder of Melee Stream Tool or TournamentStreamHelper", EXIT_NO)
    if not found:
        fail(f"{folder} has no pictures of Melee where {chosen} keeps them", EXIT_NO)
    kept = 0
    copied: Counter[str] = Counter()
    try:
        for picture in found:
            if _copy(picture, into, overwrite=overwrite):
                copied[picture.target.partition("/")[0]] += 1
            else:
                kept += 1
    except OSError as error:
        fail(f"cannot be copied: {error}", EXIT_INPUT_OUTPUT)
    counts = ", ".join(f"{copied[kind]} {kind}" for kind in ("icons", "portraits", "stages"))
    print(f"{counts} copied to {into}" + (f"; {kept} kept that were there" if kept else ""))


def _copy(picture: Picture, into: Path, *, overwrite: bool) -> bool:
    """Copy one picture, and return whether it was copied. If there's already one, of any type, it is kept, unless you
    set `overwrite`.

    Raises `OSError` if that fails.
    """
    target = into / picture.target
    others = [path for path in target.parent.glob(f"{target.stem}.*") if path.stem == target.stem]
    if others and not overwrite:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, [read_regular(picture.source)], overwrite=True)
    for other in others:
        if other != target:
            other.unlink()  # of another type: it could be shown instead of the new one
    return True
