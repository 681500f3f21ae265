"""Writes the reference pages that are made from the tables that the code itself uses.

Run `python -m tests.docs.reference_pages` after a change of a command, key, metric, message, field, endpoint or public
function; a test compares. `slpstream reference` prints the same pages, with the paths of other pages instead of links.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from slpstream.parts.reference.cli import PAGES
from tests.docs.pages import GENERATED
from tests.project import ROOT

FILES = {file.stem: file for file in GENERATED}


def page(name: str) -> str:
    """The text of the page that `slpstream reference NAME` prints, with a link for each path of another page."""

    def link(path: re.Match[str]) -> str:
        file, heading = ROOT / path[1], path[2].removeprefix("#").replace("-", " ").capitalize()
        title = file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"[{heading or title}]({Path(os.path.relpath(file, FILES[name].parent)).as_posix()}{path[2]})"

    text = "\n".join(PAGES[name]()) + "\n"
    return re.sub(r"`((?:docs|slpstream/parts)/[\w/]+\.md)((?:#[\w-]+)?)`", link, text)


if __name__ == "__main__":
    for name, file in FILES.items():
        file.write_text(page(name), encoding="utf-8")
