"""The pages of the documentation, and what is in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.project import ROOT

DOCS = ROOT / "docs"
PAGES = tuple(sorted(DOCS.rglob("*.md")))
WITH_README = (ROOT / "README.md", *PAGES)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    """A block of code in a page."""

    page: str
    """The path of the page below the root of the checkout."""
    language: str
    text: str

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0]


class Link(NamedTuple):
    """A link to a page, a heading, a picture or another site."""

    page: Path
    target: str
    is_picture: bool


def blocks(language: str) -> list[Block]:
    """All blocks of one language, in the order of the pages."""
    return [
        Block(page.relative_to(ROOT).as_posix(), language, text)
        for page in WITH_README
        for found, text in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if found == language
    ]


def links(page: Path) -> list[Link]:
    """All links of a page, without those in blocks of code."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [Link(page, target, bool(mark)) for mark, target in _LINK.findall(text)]
