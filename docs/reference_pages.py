"""A hook of mkdocs that adds the reference pages, which are made from the tables that the code itself uses.

`slpstream reference` prints the same pages.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from slpstream.cli.reference import PAGES


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add `reference/NAME.md` for every page that `slpstream reference NAME` prints."""
    for name, lines in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content="\n".join(lines())))
    return files
