"""Folders of static files. These are the daemon's pages and scripts, and the user's own stylesheets and images.

Starlette finds the file, and never leaves the folder. A file can vanish, change or become unreadable at any moment, for
example because of an editor, a network share or an upgrade. In this case, the response is 404, or it breaks off.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from slpstream.system.file_times import modified_ns
from slpstream.system.files import open_regular
from slpstream.web.file_response import OpenFileResponse

MEDIA_TYPES: Final[Mapping[str, str]] = {
    ".avif": "image/avif",
    ".css": "text/css",
    ".gif": "image/gif",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".js": "text/javascript",
    ".json": "application/json",
    ".mjs": "text/javascript",
    ".otf": "font/otf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
"""The media types of the files that we serve, by suffix.

We don't use Python's `mimetypes`, because it also reads the registry of Windows. Many programs have made `.js`
`text/plain` there, and browsers refuse to run a module of that type.
"""


def root_from(raw_path: bytes) -> str:
    """Return the relative address of the root for a page at this path. The path is as the browser has sent it.

    All addresses in pages are relative, because a proxy can place the whole server below a path.
    """
    return "../" * max(0, raw_path.count(b"/") - 1)


class Assets(StaticFiles):
    """One folder of static files."""

    def __init__(self, folder: Path, suffixes: Container[str] | None = None) -> None:
        """With `suffixes` (in lower case), only files with these suffixes are served. `None` serves all files."""
        super().__init__(directory=folder, check_dir=False)
        self._suffixes = suffixes
        self.config_checked = True  # the folder may not exist yet

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Respond to a request for a path below the folder."""
        request = Request(scope)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        return await self.respond(path, request)

    async def respond(self, path: str, request: Request) -> OpenFileResponse:
        """Return the response with the file at a path below the folder.

        Raises `HTTPException` 404 if there is no such file.
        """
        try:
            file, size_bytes, modified_seconds = await trio.to_thread.run_sync(self._open, path)
        except (OSError, ValueError):
            raise HTTPException(404) from None
        kind = MEDIA_TYPES.get(Path(path).suffix.lower(), "text/plain")
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        return OpenFileResponse(request, file, size_bytes, modified_seconds, {"content-type": kind})

    async def read(self, path: str) -> tuple[bytes, float]:
        """Return the content of a file below the folder, and its modification time in seconds.

        Raises `HTTPException` 404 if there is no such file.
        """

        def content() -> tuple[bytes, float]:
            file, _, modified_seconds = self._open(path)
            with file:
                return file.read(), modified_seconds

        try:
            return await trio.to_thread.run_sync(content)
        except (OSError, ValueError):
            raise HTTPException(404) from None

    def _open(self, path: str) -> tuple[BinaryIO, int, float]:
        """Open a file, and return it with its size in bytes and its modification time in seconds. This blocks.

        Raises `OSError`, or `ValueError` if no file can have this path.
        """
        full_path, found = self.lookup_path(path)
        if found is None or (self._suffixes is not None and Path(path).suffix.lower() not in self._suffixes):
            raise FileNotFoundError(path)
        file = open_regular(Path(full_path))
        try:
            status = os.fstat(file.fileno())
        except OSError:
            file.close()
            raise
        return file, status.st_size, modified_ns(status) / 1e9
