"""HTTP responses from files that may be growing.

They contain the bytes that are there at the time of the request, either all of them or one range.

Starlette's `FileResponse` takes a path, and reads to the current end of the file. In contrast, `OpenFileResponse` sends
exactly the given number of bytes of an open file. If the file has shrunk in the meantime or its disk is gone, we break
the connection off. There is no other way to show the client that bytes are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email.utils import formatdate
from typing import Any, BinaryIO
from urllib.parse import quote

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_BLOCK_BYTES = 64 * 1024
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
_SAFE = re.compile(r"[^A-Za-z0-9._ ()+-]")


class OpenFileResponse(Response):
    """Streams an open file, and then closes it."""

    def __init__(
        self, request: Request, file: BinaryIO, size_bytes: int, modified_seconds: float, headers: Mapping[str, str]
    ) -> None:
        """`headers` describe the content.

        If the request asks for a range outside the file, this closes the file and raises `HTTPException` 416.
        """
        self._file = file
        tag = f'"{round(modified_seconds * 1e6):x}-{size_bytes:x}"'
        fields = {
            "etag": tag,
            "last-modified": formatdate(modified_seconds, usegmt=True),
            "accept-ranges": "bytes",
            "cache-control": "no-cache",
        }
        self._first, self._stop = 0, size_bytes
        status = 200
        requested = request.headers.get("range")
        known = [part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")]
        if tag in known or "*" in known:
            status, self._stop = 304, 0
        elif requested is not None and request.headers.get("if-range", tag) == tag:
            found = byte_range(requested, size_bytes)
            if found == (0, 0):
                file.close()
                raise HTTPException(416, "the range is outside the file", {"content-range": f"bytes */{size_bytes}"})
            if found is not None:
                self._first, self._stop = found
                status = 206
                fields["content-range"] = f"bytes {self._first}-{self._stop - 1}/{size_bytes}"
        if status != 304:
            fields["content-length"] = str(self._stop - self._first)
            fields |= headers
        super().__init__(None, status, fields)
        self._head_only = request.method == "HEAD"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send the response. This makes the class an ASGI application."""
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if not self._head_only:
                for size in self._block_sizes():
                    try:
                        data = await trio.to_thread.run_sync(self._file.read, size)
                    except OSError as error:
                        raise FileChangedError(str(error)) from error
                    if len(data) < size:
                        raise FileChangedError("the file has shrunk")
                    await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._file.close()

    def _block_sizes(self) -> Iterator[int]:
        self._file.seek(self._first)
        for offset in range(self._first, self._stop, _BLOCK_BYTES):
            yield min(_BLOCK_BYTES, self._stop - offset)


class FileChangedError(Exception):
    """The file is shorter than when the response began, or can no longer be read."""


def byte_range(text: str, size_bytes: int) -> tuple[int, int] | None:
    """Return the first byte of the range in a `Range` header, and the one after its last.

    Returns `(0, 0)` if the range is outside the file. Returns `None` if the header isn't one range of bytes and so has
    to be ignored (RFC 9110, section 14.2).
    """
    match = _RANGE.fullmatch(text.replace(" ", ""))
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        first, stop = max(0, size_bytes - int(match[2])), size_bytes
    else:
        first, stop = int(match[1]), min(size_bytes, int(match[2]) + 1 if match[2] else size_bytes)
        if match[2] and int(match[2]) < first:
            return None
    return (first, stop) if first < stop else (0, 0)


def disposition(name: str) -> str:
    """Return the `content-disposition` of a download. The file name may contain any characters (RFC 6266)."""
    plain = _SAFE.sub("_", name).lstrip(".") or "replay"
    if plain == name:
        return f'attachment; filename="{plain}"'
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name.encode('utf-8', 'replace'), safe='')}"
