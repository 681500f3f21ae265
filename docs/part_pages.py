"""A hook of mkdocs that adds the pages of parts, `slpstream/parts/NAME/docs.md`.

The declaration of a part has the place of its page on the site. Links between pages lead to files of the checkout, so
that they also work where the checkout is browsed; here they become links between pages of the site.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from slpstream.parts.registry import parts

_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages to the sections of the navigation that have the other pages of their folder."""
    for section in config.nav or []:
        [pages] = section.values()
        if isinstance(pages, list):
            folders = {_path_of(page).partition("/")[0] for page in pages}
            pages += sorted(path for path in _sources(config) if path.partition("/")[0] in folders)
    return config


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add the pages under their paths on the site."""
    for path, source in _sources(config).items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files of the checkout lead to their places on the site."""
    root = Path(config.docs_dir)
    places = {source: path for path, source in _sources(config).items()}
    folder = Path(page.file.abs_src_path or root / page.file.src_uri).parent

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(folder / link[1]))
        if target not in places and not target.is_relative_to(root):
            return link[1]
        place = places.get(target) or target.relative_to(root).as_posix()
        return Path(os.path.relpath(place, Path(page.file.src_uri).parent)).as_posix()

    return _LINK.sub(moved, markdown)


def _path_of(page: str | Mapping[str, Any]) -> str:
    """The path of an entry of the navigation, which can have a title."""
    return page if isinstance(page, str) else str(*page.values())


def _sources(config: MkDocsConfig) -> Mapping[str, Path]:
    """The files of the pages by their paths on the site."""
    folder = Path(config.docs_dir).parent / "slpstream" / "parts"
    return {part.docs: folder / part.name / "docs.md" for part in parts() if part.docs}
