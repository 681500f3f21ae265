"""Folders of files that are served as they are: our pages and scripts, and people's own stylesheets and images.

Starlette finds the file and never leaves the folder; that it can go, change or become unreadable at any moment, with an
editor, a network share or an upgrade, is our part: then it is not there (404), or its answer breaks off.
"""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Container
from pathlib import Path
from typing import BinaryIO

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from slpstream.system.files import modified_ns, open_regular
from slpstream.web.file_answer import FileAnswer


class Assets(StaticFiles):
    """One folder."""

    def __init__(self, folder: Path, suffixes: Container[str] | None = None) -> None:
        """Only files with these `suffixes`, in lower case, are served; `None`: all."""
        super().__init__(directory=folder, check_dir=False)
        self._suffixes = suffixes
        self.config_checked = True  # it is no mistake if it is not there yet

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The answer to a request for a path below the folder."""
        request = Request(scope)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        return await self.answer(path, request)

    async def answer(self, path: str, request: Request) -> FileAnswer:
        """The file at a path below the folder. Raises 404."""
        try:
            file, size_bytes, modified_seconds = await trio.to_thread.run_sync(self._open, path)
        except (OSError, ValueError):
            raise HTTPException(404) from None
        kind = mimetypes.guess_type(path)[0] or "text/plain"
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        return FileAnswer(request, file, size_bytes, modified_seconds, {"content-type": kind})

    def _open(self, path: str) -> tuple[BinaryIO, int, float]:
        """In a worker thread. Raises `OSError`, and `ValueError` for what is no path."""
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
