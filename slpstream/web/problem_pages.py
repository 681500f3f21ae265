"""Problems for people.

If a browser fails to open a page, it gets a page that explains the problem, and never raw JSON.

This page is `static/problem.html`. Its script finds out more, in the language of the reader, and loads the requested
page as soon as it is available. Programs, scripts of pages, and browsers that open a path of the API get
`application/problem+json`.
"""

from __future__ import annotations

import functools
import html
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any

import msgspec

from slpstream.web.assets import root_from

PROBLEM_JSON = "application/problem+json"
_API = ("/v1/", "/openapi.json", "/metrics", "/healthz", "/readyz")
_DOCUMENTS = ("document", "iframe", "frame")
_METHODS = ("GET", "HEAD")


def wants_page(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser has sent the request to show the response to a person.

    The names of the headers are in lower case. Browsers let us know with `Sec-Fetch-Dest`. Over plain HTTP to another
    machine they don't send it, so we only have `Accept` there.
    """
    if method not in _METHODS or path.startswith(_API):
        return False
    destination = headers.get("sec-fetch-dest")
    if destination is not None:
        return destination in _DOCUMENTS
    return "text/html" in headers.get("accept", "")


def with_problem_pages(app: Any) -> Callable[..., Awaitable[None]]:
    """Wrap an application so that browsers that want to show something to a person get its problems as pages."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not wants_page(scope["method"], scope["path"], headers):
            await app(scope, receive, send)
            return
        begun: dict[str, Any] | None = None

        async def send_page(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and _is_problem(message):
                begun = message
            elif begun is None:
                await send(message)
            else:
                body = problem_page(scope["raw_path"], msgspec.json.decode(message["body"])["detail"])
                kept = [each for each in begun["headers"] if each[0] not in (b"content-type", b"content-length")]
                own = [
                    (b"content-type", b"text/html; charset=utf-8"),
                    (b"content-length", b"%d" % len(body)),
                    (b"cache-control", b"no-store"),  # the next response may be the page itself
                ]
                await send({**begun, "headers": [*kept, *own]})
                await send({**message, "body": body})

        await app(scope, receive, send_page)

    return wrapped


def problem_page(path: bytes, detail: str) -> bytes:
    """Return the page for a path, which is as the browser has sent it.

    `detail` is shown until the script has found out more. The addresses in the file are relative to the root.
    """
    page = _template().replace(b'="static/', b'="%bstatic/' % root_from(path).encode())
    return page.replace(b"{detail}", html.escape(detail).encode())


@functools.cache
def _template() -> bytes:
    return (files("slpstream.web") / "static" / "problem.html").read_bytes()


def _is_problem(message: Mapping[str, Any]) -> bool:
    return (b"content-type", PROBLEM_JSON.encode()) in message["headers"]
