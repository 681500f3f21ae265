"""A hook of mkdocs that puts the texts of parts, `slpstream/parts/NAME/docs.md`, on the pages of their subjects.

The declaration of a part has the page. Its text becomes a section of it, with the address `#NAME`. If no file of the
documentation has that path, the first text of the parts that name it is the beginning of the page.

Links between texts lead to files of the checkout, so that they also work where the checkout is browsed; here they
become links between pages of the site.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from slpstream.parts.registry import parts

_BLOCK = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?!https?:)([^)\s#]*)#?([^)\s]*)(?=\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the pages of parts alone to the sections of the navigation that have the other pages of their folder."""
    alone = _alone(config)
    for section in config.nav or []:
        [pages] = section.values()
        if isinstance(pages, list):
            folders = {_path_of(page).partition("/")[0] for page in pages}
            pages += sorted(path for path in alone if path.partition("/")[0] in folders)
    return config


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add the pages of parts alone."""
    for path, source in _alone(config).items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add the sections of a page, and let links to files of the checkout lead to their places on the site."""
    path = page.file.src_uri
    beginning = Path(page.file.abs_src_path or Path(config.docs_dir) / path)
    sections = [source for source, place in _sources(config).items() if place == path and source != beginning]
    texts = [_moved(markdown, beginning, path, config)]
    texts += [_moved(_as_section(source), source, path, config) for source in sections]
    return "\n\n".join(texts)


def _as_section(source: Path) -> str:
    """A text with its headings one level lower, and with the addresses that `_moved` gives to links to them."""
    name = source.parent.name

    def lower(heading: re.Match[str]) -> str:
        address = name if heading[1] == "#" else f"{name}-{_slug(heading[2])}"
        return f"#{heading[0]} {{#{address}}}"

    return _outside_of_blocks(_HEADING, lower, source.read_text(encoding="utf-8"))


def _moved(text: str, source: Path, path: str, config: MkDocsConfig) -> str:
    """The text of a file as a part of the page `path`."""
    root, places, alone = Path(config.docs_dir), _sources(config), _alone(config)

    def move(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / link[1])) if link[1] else source
        if target not in places and not target.is_relative_to(root):
            return link[0]
        place, heading = places.get(target) or target.relative_to(root).as_posix(), link[2]
        if target in places and target not in alone.values():
            heading = "-".join(filter(None, (target.parent.name, heading)))
        address = "" if place == path and heading else Path(os.path.relpath(place, Path(path).parent)).as_posix()
        return f"{address}#{heading}" if heading else address

    return _outside_of_blocks(_LINK, move, text)


def _outside_of_blocks(pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str], text: str) -> str:
    """A text with replacements everywhere but in blocks of code."""
    return "".join(piece if _BLOCK.match(piece) else pattern.sub(replace, piece) for piece in _BLOCK.split(text))


def _slug(heading: str) -> str:
    """The address of a heading, as a forge makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _path_of(page: str | Mapping[str, Any]) -> str:
    """The path of an entry of the navigation, which can have a title."""
    return page if isinstance(page, str) else str(*page.values())


def _sources(config: MkDocsConfig) -> Mapping[Path, str]:
    """The pages of the texts of parts, in the order of the parts' names."""
    folder = Path(config.docs_dir).parent / "slpstream" / "parts"
    named = sorted((part.name, part.docs) for part in parts() if part.docs)
    return {folder / name / "docs.md": path for name, path in named}


def _alone(config: MkDocsConfig) -> Mapping[str, Path]:
    """The first texts of the pages that no file of the documentation has."""
    found: dict[str, Path] = {}
    for source, path in _sources(config).items():
        if not (Path(config.docs_dir) / path).exists():
            found.setdefault(path, source)
    return found
