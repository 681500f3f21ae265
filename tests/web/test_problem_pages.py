"""Pages that replace problem details for people, and the form for the token, over HTTP and in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from slpstream.web.access import Access
from slpstream.web.problem_pages import problem_page, wants_page
from tests.browsers.pages import LONG_MS, open_page
from tests.daemons.configuration import configuration, requiring_tokens
from tests.daemons.process import DaemonProcess, running
from tests.ports import free_port
from tests.web.served import served

LOCKED = Access(token="sesame", require_token=True)
HTML = "text/html,application/xhtml+xml,*/*;q=0.8"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A daemon that requires tokens, for tests that only read pages."""
    base = tmp_path_factory.mktemp("guarded")
    (base / "station").mkdir()
    with running(base / "station", arguments=requiring_tokens(base)) as daemon:
        yield daemon


@pytest.mark.parametrize(
    ("method", "path", "headers", "wants"),
    [
        ("GET", "/overlay/main", {"accept": HTML}, True),
        ("HEAD", "/overlay/main", {"accept": HTML}, True),
        ("GET", "/overlay/main", {"accept": "*/*", "sec-fetch-dest": "document"}, True),
        ("GET", "/scenes/live/main", {"sec-fetch-dest": "iframe"}, True),
        ("GET", "/custom/page.html", {"sec-fetch-dest": "document"}, True),
        ("GET", "/overlay/main", {"accept": HTML, "sec-fetch-dest": "empty"}, False),
        ("GET", "/static/x.js", {"accept": "*/*", "sec-fetch-dest": "script"}, False),
        ("GET", "/overlay/main", {"accept": "*/*"}, False),
        ("GET", "/overlay/main", {}, False),
        ("POST", "/overlay/main", {"accept": HTML}, False),
        ("GET", "/v1/stations", {"accept": HTML, "sec-fetch-dest": "document"}, False),
        ("GET", "/metrics", {"accept": HTML, "sec-fetch-dest": "document"}, False),
    ],
)
def test_pages_are_sent_only_to_browsers(method: str, path: str, headers: dict[str, str], wants: bool) -> None:
    assert wants_page(method, path, headers) == wants


def test_page_escapes_its_words_and_has_relative_addresses() -> None:
    for path, static in ((b"/", b"static/"), (b"/overlay/x", b"../static/"), (b"/a/b/c", b"../../static/")):
        page = problem_page(path, "<wrong>")
        assert b'src="%bcombined.js?module=problem.js"' % static in page
        assert b'href="%bcombined.css?file=problem.css&amp;module=problem.js"' % static in page
        assert b"&lt;wrong&gt;" in page


@pytest.mark.trio
@pytest.mark.parts("api_docs", "dashboard", "scenes")
async def test_problems_are_pages_for_people_and_json_for_programs() -> None:
    async with served(access=LOCKED) as server:
        for target, status in (
            ("/overlay/main", 401),
            ("/overlay/main?token=wrong", 401),
            ("/overlay/third?token=sesame", 404),
            ("/scenes/live/third?token=sesame", 404),
            ("/nothing?token=sesame", 404),
        ):
            page = await server.ask(target, accept=HTML)
            assert page.status == status
            assert page.headers["content-type"] == "text/html; charset=utf-8"
            assert page.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in page.headers["content-security-policy"]
            assert b"problem.js" in page.body
            assert b"sesame" not in page.body
            program = await server.ask(target, accept="*/*")
            assert program.problem["status"] == status
            assert page.headers.get("www-authenticate") == program.headers.get("www-authenticate")
        for target in ("/", "/?token=wrong", "/docs", "/docs?token=wrong"):
            assert (await server.ask(target)).status == 200, "these pages contain no private data"
        refused = await server.ask("/overlay/main", host="evil.example", accept=HTML)
        assert refused.status == 421
        assert b"this host name is not served here" in refused.body
        assert (await server.ask("/v1/stations", accept=HTML)).problem["status"] == 401


@pytest.mark.trio
async def test_root_without_the_dashboard_is_a_problem() -> None:
    async with served(pages=()) as server:
        page = await server.ask("/", accept=HTML)
        assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert (await server.ask("/")).problem["detail"] == "Not Found"


def problem(page: Page, kind: str) -> None:
    """Wait until the page shows a problem of this kind."""
    page.locator(f"body[data-problem={kind}]").wait_for()


@pytest.mark.parts("scenes")
def test_overlay_appears_once_its_station_exists(browser: Browser, tmp_path: Path) -> None:
    """The same page also survives a period without a daemon."""
    (tmp_path / "tree" / "main").mkdir(parents=True)
    arguments = configuration(tmp_path, f"[[stations]]\nid = '*'\nfolder = '{tmp_path / 'tree'}'\n")
    restartable = (*arguments, "--port", str(free_port()))
    with open_page(browser, locale="ja-JP") as watched:
        page = watched.page
        with running(arguments=restartable) as first:
            first.wait_ready()
            page.goto(f"{first.url}/overlay/side")
            problem(page, "unknown_station")
            expect(page.locator("h1")).to_have_text("ステーション「side」は見つかりません。")
            expect(page.locator("html")).to_have_attribute("lang", "ja")
            expect(page.locator(".stations a")).to_have_text(["main"])
            expect(page.locator("body")).to_have_css("background-color", "rgba(0, 0, 0, 0)")  # it is over a video
            box = page.locator(".problem").bounding_box()
            assert box is not None
            assert box["width"] * box["height"] < 1920 * 1080 / 20
            first.kill()
            problem(page, "gone")
        (tmp_path / "tree" / "side").mkdir()
        with running(arguments=restartable) as second:
            page.locator(".overlay").wait_for(timeout=LONG_MS)
            expect(page).to_have_url(f"{second.url}/overlay/side")


@pytest.mark.parts("scenes")
def test_wrong_token_is_reported(page: Page, guarded: DaemonProcess) -> None:
    page.goto(f"{guarded.url}/overlay/station")
    problem(page, "no_token")
    expect(page.locator("h1")).to_have_text("This page needs the access token.")
    page.goto(f"{guarded.url}/overlay/station?token=guess&lang=es")
    problem(page, "wrong_token")
    expect(page.locator("h1")).to_have_text("El token de acceso es incorrecto.")
    assert page.locator(".stations a").count() == 0
    page.goto(f"{guarded.url}/overlay/station?token=sesame")
    page.get_by_text("waiting for a game").wait_for()


@pytest.mark.parts("dashboard", "scenes")
def test_token_is_typed_once_and_never_in_the_address(page: Page, guarded: DaemonProcess) -> None:
    page.goto(f"{guarded.url}/#station/station")
    field = page.get_by_label("Access token")
    expect(field).to_be_focused()
    expect(page.locator(".station")).to_have_count(0)
    page.keyboard.type("guess")
    page.keyboard.press("Enter")
    expect(page.locator(".login .problem")).to_have_text("The token is wrong.")
    field.fill("sesame")
    page.get_by_label("Remember on this device").check()
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".station")).to_have_count(1)
    expect(page.locator(".login")).to_be_hidden()
    assert page.url.startswith(f"{guarded.url}/#")
    another = page.context.new_page()
    another.goto(f"{guarded.url}/")
    expect(another.locator(".station")).to_have_count(1)
    page.reload()
    expect(page.locator(".station")).to_have_count(1)
    with page.expect_navigation():
        page.get_by_role("link", name="/v1/stations").click()
    assert '"stations"' in page.locator("body").inner_text()
    assert "sesame" not in page.url
    page.goto(f"{guarded.url}/#station/station")
    page.get_by_role("button", name="Log out").click()
    expect(field).to_be_visible()
    page.goto(f"{guarded.url}/?token=open#station/station")
    expect(page.locator(".station")).to_have_count(1)
    assert page.url.startswith(f"{guarded.url}/#")
    expect(page.get_by_label("Overlay address of station, for OBS").last).to_have_value(re.compile("token=open$"))


def responding(status: int) -> Callable[[Route], None]:
    """Make up the responses to all requests except the one for the page itself."""

    def respond(route: Route) -> None:
        if route.request.is_navigation_request():
            route.continue_()
        else:
            route.fulfill(status=status, content_type="application/problem+json", body="{}")

    return respond


@pytest.mark.parts("scenes")
def test_every_problem_has_a_text(browser: Browser, empty_daemon: DaemonProcess) -> None:
    """The first response is the daemon's; the following ones are made up."""
    statuses = {403: "refused", 421: "wrong_host", 500: "internal", 502: "gone", 503: "starting", 404: "starting"}
    starting = {"status": "not ready", "missing": [], "starting": ["x"]}
    for status, kind in statuses.items():
        with open_page(browser) as watched:
            page = watched.page
            page.route("**/overlay/x", responding(status))
            page.route("**/readyz", lambda route: route.fulfill(status=503, json=starting))
            page.goto(f"{empty_daemon.url}/overlay/x")
            problem(page, kind)
            assert len(page.locator("h1").inner_text()) > 10
            assert len(page.locator(".advice").inner_text()) > 10
            assert [each for each in watched.complaints if "Failed to load resource" not in each] == []


@pytest.mark.parts("dashboard")
def test_readers_who_change_a_set_get_the_form(page: Page, guarded: DaemonProcess) -> None:
    page.goto(f"{guarded.url}/?token=sesame#station/station")
    field = page.get_by_role("textbox", name="Round")
    field.fill("Grand Final")
    field.press("Enter")
    expect(page.locator(".set-problem")).to_have_text("Only operators can change sets. Log in")
    page.locator(".set-problem").get_by_role("link", name="Log in").click()
    page.get_by_label("Access token").fill("open")
    page.keyboard.press("Enter")
    expect(page.locator(".login")).to_be_hidden()
    expect(field).to_be_visible()
    field.fill("Grand Final")
    field.press("Enter")
    expect(page.locator(".change .what").first).to_have_text("Round: – → Grand Final")
