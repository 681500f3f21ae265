"""The pages of the documentation, and their contents."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slpstream.parts.registry import parts
from tests.project import ROOT, has_part

DOCS = ROOT / "docs"
OF_PARTS = {f"slpstream/parts/{part.name}/docs.md": part.docs for part in parts() if part.docs}
"""The paths of the pages of parts on the site, by their paths below the root of the checkout."""
GENERATED = tuple(
    DOCS / "reference" / f"{name}.md"
    for name in ("commands", "config", "fields", "http", "messages", "metrics", "python")
)
"""The pages that `tests.docs.reference_pages` writes."""
PAGES = (*sorted({*DOCS.rglob("*.md")} - {*GENERATED}), *(ROOT / page for page in OF_PARTS))
"""The pages that people write."""
WITH_README = (ROOT / "README.md", *PAGES)
DESCRIBED_PARTS: Mapping[str, Sequence[str]] = {
    "docs/data/situations.md": ["highlights", "obs", "odds", "situations"],
    "docs/explanation/threat_model.md": ["demo"],
    "docs/howto/consoles.md": ["consoles"],
    "docs/howto/outputs.md": ["deliveries", "jsonl", "webhooks"],
    "docs/production/index.md": ["highlights", "marks", "obs", "on_air", "playback_dolphin", "text_files"],
    "docs/production/remote_controls.md": ["marks", "on_air", "playback_dolphin"],
    "docs/reference/replay_log.md": ["verify"],
    "docs/reference/stats.md": ["highlights"],
    "docs/tournament/index.md": ["bracket", "chat", "consoles", "controllers", "demo", "handover", "rehearse", "seats"],
    "slpstream/parts/announce/docs.md": ["consoles"],
    "slpstream/parts/obs/docs.md": ["text_files"],
}
"""The parts whose names are on other pages than their own. A page is not checked if one of its parts was deleted."""
DOCUMENTS = tuple(
    page
    for page in (*WITH_README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("deploy/**/*.md")))
    if all(map(has_part, DESCRIBED_PARTS.get(page.relative_to(ROOT).as_posix(), ())))
)
"""All texts for readers, including contributors and maintainers."""
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    """A block of code in a page."""

    page: str
    """The path of the page below the root of the checkout."""
    language: str
    text: str


class Link(NamedTuple):
    """A link to a page, a heading, a picture or another site."""

    page: Path
    target: str
    is_picture: bool


def all_blocks() -> list[Block]:
    """All blocks, in the order of the documents."""
    return [
        Block(page.relative_to(ROOT).as_posix(), language, textwrap.dedent(text))
        for page in DOCUMENTS
        for _, language, text in _BLOCK.findall(page.read_text(encoding="utf-8"))
    ]


def blocks(language: str) -> list[Block]:
    """All blocks of one language, in the order of the documents."""
    return [block for block in all_blocks() if block.language == language]


def code_in_text(page: Path) -> list[str]:
    """All pieces of code in the sentences and tables of a page, each on one line."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [" ".join(code.split()).replace("\\|", "|") for _, code in _CODE.findall(text)]


def links(page: Path) -> list[Link]:
    """All links of a page, without those in blocks of code."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [Link(page, target, bool(mark)) for mark, target in _LINK.findall(text)]
