"""A hook of mkdocs that adds the reference pages, which are made from the tables that the code itself uses.

`slpstream reference` prints the same pages, with the paths of other pages in place of links.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from slpstream.parts.reference.cli import PAGES


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add `reference/NAME.md` for every page that `slpstream reference NAME` prints."""
    for name, lines in PAGES.items():
        content = _with_links("\n".join(lines()), Path(config.docs_dir).parent)
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def _with_links(text: str, root: Path) -> str:
    """Replace the path of each page below the root of the checkout with a link to it, which has its title."""

    def link(path: re.Match[str]) -> str:
        title = (root / path[1]).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"[{title}](../../{path[1]})"

    return re.sub(r"`((?:docs|slpstream/parts)/[\w/]+\.md)`", link, text)
