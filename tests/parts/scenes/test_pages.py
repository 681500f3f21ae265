"""Pages of scenes: one template, filled for each scene and address."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from html import unescape
from urllib.parse import urljoin

import pytest

from slpstream.parts.scenes.pages import STATION_SCENES
from tests.web.served import Served, served

pytestmark = pytest.mark.trio
PAGES = ("/overlay/main", "/scenes/ticker", *(f"/scenes/{scene}/main" for scene in STATION_SCENES))


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    """The web server with the station `main`, in the test's event loop."""
    async with served() as server:
        yield server


def addresses(page: str) -> Sequence[str]:
    """The addresses of a page's stylesheets and scripts."""
    return [unescape(address) for address in re.findall(r'(?:href|src)="([^"]*static/[^"]*)"', page)]


@pytest.mark.parametrize("path", PAGES)
async def test_page_is_complete(server: Served, path: str) -> None:
    answer = await server.ask(path)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = answer.body.decode()
    assert "{" not in page
    assert page.count("<main ") == 1
    assert len(addresses(page)) == 2
    for address in addresses(page):
        assert (await server.ask(urljoin(path, address))).status == 200, address


async def test_page_is_not_sent_again(server: Served) -> None:
    answer = await server.ask("/scenes/versus/main")
    again = await server.ask("/scenes/versus/main", if_none_match=answer.headers["etag"])
    assert (again.status, again.body) == (304, b"")


async def test_addresses_are_relative_to_the_path_as_it_was_sent(server: Served) -> None:
    """A slash that is encoded in the path is not a level of the address."""
    page = (await server.ask("/scenes%2Flive/main")).body.decode()
    assert addresses(page) == [
        "../static/combined.css?file=scenes/live.css&module=scenes/live.js",
        "../static/combined.js?module=scenes/live.js",
    ]


async def test_overlay_is_the_live_scene(server: Served) -> None:
    overlay, live = [(await server.ask(path)).body for path in ("/overlay/main", "/scenes/live/main")]
    assert overlay == live.replace(b"../../static/", b"../static/")
