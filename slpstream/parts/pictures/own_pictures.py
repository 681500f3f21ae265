"""The list of the user's own pictures, below the folder that is served as `/custom/`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from slpstream.web.endpoint import json_response
from slpstream.web.site import STATIC_PATH

SUFFIXES: Final = (".png", ".svg", ".webp")
"""The types of pictures. If several pictures show the same thing, we use the one whose type comes first here."""
_NUMBER = re.compile(r"0|[1-9][0-9]{0,2}")


class OwnPictures(msgspec.Struct, frozen=True):
    """Paths of the pictures below the folder, such as `icons/2/0.png`."""

    icons: dict[str, dict[str, str]] = {}
    """The small pictures next to names, by external character id and then by costume index."""
    portraits: dict[str, dict[str, str]] = {}
    """The large pictures, by external character id and then by costume index."""
    stages: dict[str, str] = {}
    """The pictures of stages, by stage id."""
    sponsors: dict[str, str] = {}
    """The logos of sponsors, by the name of the file without its type. Their paths are escaped as in an address."""


def routes(exists: Callable[[str], bool], overlay_folder: Path | None) -> list[Route]:
    """Return the route to the list of pictures."""

    async def pictures(request: Request) -> Response:
        return await json_response(request, await trio.to_thread.run_sync(own_pictures, overlay_folder))

    return [Route(f"{STATIC_PATH}/icons/own.json", pictures)]


def own_pictures(folder: Path | None) -> OwnPictures:
    """Return the pictures that are in the folder now. A folder that doesn't exist or cannot be read has no pictures.

    This blocks.
    """
    if folder is None:
        return OwnPictures()
    return OwnPictures(
        icons=_of_characters(folder, "icons"),
        portraits=_of_characters(folder, "portraits"),
        stages=_numbered(folder, "stages"),
        sponsors=_named(folder, "sponsors"),
    )


def _of_characters(folder: Path, kind: str) -> dict[str, dict[str, str]]:
    found = {}
    for name in sorted(_names(folder / kind)):
        if _NUMBER.fullmatch(name) and (pictures := _numbered(folder, f"{kind}/{name}")):
            found[name] = pictures
    return found


def _numbered(folder: Path, below: str) -> dict[str, str]:
    names = set(_names(folder / below))
    numbers = sorted({name.partition(".")[0] for name in names if _NUMBER.fullmatch(name.partition(".")[0])}, key=int)
    candidates = {number: [name for suffix in SUFFIXES if (name := number + suffix) in names] for number in numbers}
    return {number: f"{below}/{files[0]}" for number, files in candidates.items() if files}


def _named(folder: Path, below: str) -> dict[str, str]:
    names = [name for name in _names(folder / below) if name.encode(errors="replace").decode() == name]
    files = {Path(name).stem: name for suffix in reversed(SUFFIXES) for name in names if name.endswith(suffix)}
    return {name: quote(f"{below}/{files[name]}") for name in sorted(files)}


def _names(folder: Path) -> Iterator[str]:
    try:
        yield from [path.name for path in folder.iterdir()]
    except OSError:
        return
