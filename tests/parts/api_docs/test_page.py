"""The reference of the API, `/docs`, in a real browser: complete, readable, and with a console that subscribes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from websockets.sync.client import connect

from slpstream.model.errors import SubscriberError
from slpstream.model.messages import PAYLOADS, STATUS_PAYLOADS
from slpstream.parts import registry
from slpstream.parts.api_docs import stream_reference
from slpstream.stream.subscription import SubscribeRequest
from slpstream.web.app import described_endpoints
from tests.browsers.pages import WatchedPage
from tests.daemons.demo import Demo, demo

pytestmark = pytest.mark.parts("demo")


@pytest.fixture(scope="module")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo(log=tmp_path_factory.mktemp("demo") / "stderr") as playing:
        yield playing


def test_stream_is_described_from_its_types() -> None:
    described = stream_reference.description()
    assert {option["name"] for option in described["options"]} == set(SubscribeRequest.__struct_fields__)
    assert all(option["description"] for option in described["options"])
    codes = {each["code"]: each["description"] for each in described["closeCodes"]}
    assert codes.keys() >= {kind.close_code for kind in SubscriberError.__subclasses__()}
    assert all(codes.values())


def test_page_is_complete(watched: WatchedPage, page: Page, playing: Demo) -> None:
    page.goto(f"{playing.url}/")
    page.get_by_role("link", name="API", exact=True).click()
    expect(page.locator(".view:visible")).to_have_attribute("id", "console")
    for endpoint in described_endpoints(registry.endpoints({})):
        section = page.locator(f"#operation-{endpoint.name}")
        expect(section.locator("h2")).to_have_text(f"{endpoint.method} {endpoint.path}")
    for kind in (*PAYLOADS, *STATUS_PAYLOADS):
        assert page.locator(f"#message-{kind} tbody tr").count() > 0
    for code in ("1001", "4400", "4401", "4404", "4410"):
        expect(page.locator("#stream").locator("th", has_text=code)).to_be_attached()
    links = page.locator("a[href^='#']").evaluate_all("links => links.map((link) => link.hash.slice(1))")
    missing = page.evaluate("ids => ids.filter((id) => document.getElementById(id) === null)", links)
    assert missing == []
    page.evaluate("location.hash = '#message-event'")
    page.locator("#message-event").get_by_role("link", name="Conversion", exact=True).click()
    expect(page.locator("#message-type-Conversion h2")).to_be_focused()
    expect(page.locator("#message-type-Conversion").get_by_role("link", name="MoveLanded")).to_be_visible()
    contents = page.get_by_role("navigation", name="Contents")
    contents.get_by_role("link", name="HTTP", exact=True).click()
    page.locator("#http").get_by_role("link", name="GET /v1/games", exact=True).click()
    expect(page.locator("#operation-listGames h2")).to_be_focused()
    expect(page.locator(".view:visible")).to_have_count(1)
    expect(contents.locator("[aria-current=true]")).to_have_text("GET /v1/games")
    page.locator("#operation-listGames summary").click()
    example = json.loads(page.locator("#operation-listGames details pre").text_content() or "")
    assert set(example["games"][0]) >= {"gameId", "station", "players", "summary"}
    watched.check(playing.url)


def test_console(watched: WatchedPage, page: Page, playing: Demo) -> None:
    page.goto(f"{playing.url}/docs")
    console = page.locator(".console")
    console.get_by_label("frame", exact=True).check()
    console.get_by_label("Station").select_option("demo")
    console.get_by_label("Fields of a frame").fill("post.percent")
    console.get_by_label("Frames per second").fill("30")
    console.locator("[name=frames]").select_option("finalized")
    console.get_by_role("button", name="Connect", exact=True).click()
    expect(console.locator(".state")).to_have_text("connected")
    frame = console.locator("li", has=page.locator(".type", has_text="frame")).first
    frame.locator("summary").wait_for()
    console.get_by_role("button", name="Pause").click()
    shown = console.locator(".messages li").count()
    assert 0 < shown <= 200
    console.locator("summary").last.click()
    assert '"type"' in console.locator(".messages pre").last.inner_text()
    address, message = (field.input_value() for field in console.locator(".url").all())
    assert json.loads(message) == {
        "op": "subscribe", "stations": ["demo"], "frames": "finalized", "fields": ["post.percent"], "rate": 30,
    }  # fmt: skip
    with connect(address) as by_address, connect(address.partition("?")[0]) as by_message:
        by_message.send(message)
        for socket in (by_address, by_message):
            assert json.loads(socket.recv(10))["type"] == "hello"
            assert json.loads(socket.recv(10))["station"] == "demo"
    console.get_by_role("button", name="Clear").click()
    expect(console.locator(".messages li")).to_have_count(0)
    console.get_by_role("button", name="Disconnect").click()
    expect(console.locator(".state")).to_have_text("")
    watched.check(playing.url)
