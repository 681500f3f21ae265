"""A hook of mkdocs that gives the site the colours and fonts of slpstream's own pages.

They stay where the pages have them: the colours in `page.css`, the fonts in `fonts/`.
"""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_STATIC = Path("slpstream", "web", "static")
_COLOURS = re.compile(r":root \{(.*?)\}", re.DOTALL)
_SCHEMES = ("slate", "default")
"""The theme's names of the dark and the light scheme, in the order of `page.css`."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the stylesheets that `on_files` adds to the site, before the site's own ones."""
    config.extra_css = ["look/fonts/fonts.css", "look/colours.css", *config.extra_css]
    return config


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """Add the fonts, and a stylesheet with the colours of both schemes."""
    static = Path(config.docs_dir).parent / _STATIC
    for path in sorted((static / "fonts").iterdir()):
        if path.suffix != ".js":
            files.append(File.generated(config, f"look/fonts/{path.name}", abs_src_path=str(path)))
    found = _COLOURS.findall((static / "page.css").read_text(encoding="utf-8"))
    rules = [
        f'[data-md-color-scheme="{scheme}"] {{{re.sub("color-scheme:.*", "", colours)}}}\n'
        for scheme, colours in zip(_SCHEMES, found, strict=True)
    ]
    files.append(File.generated(config, "look/colours.css", content="".join(rules)))
    return files
