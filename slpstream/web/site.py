"""The pages of a web server, and who may load them. There are those of the core, and those that parts add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta
from starlette.routing import Route, compile_path

STATIC_PATH, CUSTOM_PATH = "/static", "/custom"
MakeRoutes = Callable[[Callable[[str], bool], Path | None], Sequence[Route]]
"""Takes a function that returns whether a station exists, and the overlay folder, if there is one."""


class Page(NamedTuple):
    """A page that people can open, together with the folder that its file is in.

    The page itself doesn't contain anything private. It asks the user for the token, to load its data with it.
    """

    path: str
    """The path, with `{name}` for each variable part."""
    folder: Path
    file: str
    title: str = ""
    """The words of its link in the navigation. If this is empty, the page is not listed there."""
    frames: bool = False
    """Whether the page may contain other pages of this server."""


class ListedPage(msgspec.Struct, frozen=True):
    """A page in the navigation."""

    path: str
    title: str


class PageList(msgspec.Struct, frozen=True):
    """The pages of a server."""

    pages: Annotated[list[ListedPage], Meta(description="The pages that parts add to the navigation.")]
    parts: Annotated[list[str], Meta(description="All parts with pages, scripts or styles, below `/static/{part}/`.")]


class Site:
    """The pages, scripts, styles and other files of a web server."""

    def __init__(
        self,
        pages: Sequence[Page] = (),
        *,
        make_routes: MakeRoutes = lambda exists, overlay_folder: (),
        static_folders: Mapping[str, Path] | None = None,
        name_folders: Mapping[str, Path] | None = None,
        overlay_folder: Path | None = None,
        claim_paths: Sequence[str] = (),
        describe: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        """`make_routes` makes the routes to pages that need a token. `static_folders` are served below `/static/` under
        their names. The JSON files in `name_folders` are served as `/static/names/{format}/`. `overlay_folder` holds
        the user's own stylesheets and pages and is served as `/custom/`. `claim_paths` are the prefixes of paths that
        need `Role.CLAIM` only. `describe` makes the description of the API from its endpoints and the version; without
        it, there is no `/openapi.json`."""
        self.pages = pages
        self.make_routes = make_routes
        self.static_folders = static_folders or {}
        self.name_folders = name_folders or {}
        self.overlay_folder = overlay_folder
        self.describe = describe
        self._claim_paths = tuple(claim_paths)
        self._patterns = [compile_path(page.path)[0] for page in pages]

    def is_page(self, path: str) -> bool:
        """Whether a path leads to a page. Pages are served without a token."""
        return any(pattern.match(path) for pattern in self._patterns)

    def takes_claims(self, path: str) -> bool:
        """Whether requests for this path bring another kind of token, which the endpoint itself checks."""
        return path.startswith(self._claim_paths)

    def listed(self) -> PageList:
        """Return the pages that are listed in the navigation, and the parts that have pages."""
        listed = [ListedPage(page.path, page.title) for page in self.pages if page.title]
        return PageList(listed, sorted(self.static_folders))


def is_asset(path: str) -> bool:
    """Whether a path leads to a file that a page consists of.

    These files are served without a token, because a page can't pass its token on. Pages of other sites may have them,
    too.
    """
    return path.startswith((f"{STATIC_PATH}/", f"{CUSTOM_PATH}/"))
