"""Pages for people in place of problems, and the form for the token, over HTTP and in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from slpstream.web.access import Access
from slpstream.web.problem_pages import problem_page, wants_page
from tests.daemons.process import DaemonProcess, running
from tests.project import IN_CI
from tests.synthetic.match import synthetic_match
from tests.web.pages import open_page, screenshot
from tests.web.served import served
from tests.web.test_dashboard import AXE, PHONE, WIDE, serious

LOCKED = Access(token="sesame", require_token=True)
HTML = "text/html,application/xhtml+xml,*/*;q=0.8"
SOURCE = ViewportSize(width=1920, height=1080)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A daemon with an empty station, for tests that only look at pages."""
    folder = tmp_path_factory.mktemp("plain") / "station"
    folder.mkdir()
    with running(folder) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """The same, which requires tokens."""
    base = tmp_path_factory.mktemp("guarded")
    (base / "station").mkdir()
    with running(base / "station", arguments=requiring_tokens(base)) as daemon:
        yield daemon


@pytest.fixture
def locked(tmp_path: Path) -> tuple[str, ...]:
    """The arguments of a daemon that requires tokens."""
    return requiring_tokens(tmp_path)


def requiring_tokens(tmp_path: Path) -> tuple[str, ...]:
    for name in ("token", "operate"):
        (tmp_path / name).write_text(f"{'sesame' if name == 'token' else 'open'}\n")
    config = tmp_path / "slpstream.toml"
    config.write_text(
        f'[server]\nrequire_token = true\ntoken_file = "{tmp_path / "token"}"\n'
        f'operate_token_file = "{tmp_path / "operate"}"\n'
    )
    return ("--config", str(config))


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
def test_pages_are_for_browsers_that_show_them(method: str, path: str, headers: dict[str, str], wants: bool) -> None:
    assert wants_page(method, path, headers) == wants


@pytest.mark.parametrize(
    ("path", "static"),
    [(b"/", b"static/"), (b"/x", b"static/"), (b"/overlay/x", b"../static/"), (b"/a/b/c", b"../../static/")],
)
def test_addresses_in_the_page_are_relative_to_its_own(path: bytes, static: bytes) -> None:
    page = problem_page(path, "<wrong>")
    assert b'src="%bproblem.js"' % static in page
    assert b'href="%bproblem.css"' % static in page
    assert b"&lt;wrong&gt;" in page
    assert b"{detail}" not in page


@pytest.mark.trio
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
        refused = await server.ask("/overlay/main", host="evil.example", accept=HTML)
        assert refused.status == 421
        assert b"this host name is not served here" in refused.body
        assert (await server.ask("/v1/stations", accept=HTML)).problem["status"] == 401


@pytest.mark.trio
async def test_pages_that_contain_nothing_private_need_no_token() -> None:
    async with served(access=LOCKED) as server:
        for target in ("/", "/?token=wrong", "/docs", "/docs?token=wrong"):
            assert (await server.ask(target)).status == 200
        assert (await server.ask("/", host="evil.example")).status == 421
        assert (await server.ask("/", origin="https://evil.example")).status == 403


def problem(page: Page, kind: str) -> None:
    """Waits until the page shows a problem of this kind."""
    page.locator(f"body[data-problem={kind}]").wait_for()


def test_overlay_of_an_unknown_station_appears_by_itself(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "tree" / "main").mkdir(parents=True)
    config = tmp_path / "slpstream.toml"
    config.write_text(f'[[stations]]\nid = "*"\nfolder = "{tmp_path / "tree"}"\n')
    with running(arguments=("--config", str(config))) as daemon, open_page(browser, viewport=SOURCE) as watched:
        page = watched.page
        daemon.wait_ready()
        page.goto(f"{daemon.url}/overlay/side")
        problem(page, "unknown_station")
        expect(page.locator("h1")).to_have_text("There is no station “side”.")
        expect(page.locator(".stations a")).to_have_text(["main"])
        body = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert body == "rgba(0, 0, 0, 0)", "it is laid over a video"
        box = page.locator(".problem").bounding_box()
        assert box is not None
        assert box["width"] * box["height"] < 1920 * 1080 / 20
        screenshot(page, "problem-source")
        (tmp_path / "tree" / "side").mkdir()
        page.locator(".overlay").wait_for(timeout=60_000)
        expect(page).to_have_url(f"{daemon.url}/overlay/side")


def test_problem_page_survives_a_daemon_that_is_gone(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "station"
    folder.mkdir()
    with open_page(browser, viewport=SOURCE, locale="ja-JP") as watched:
        page = watched.page
        with running(folder) as first:
            page.goto(f"{first.url}/overlay/other")
            problem(page, "unknown_station")
            expect(page.locator("h1")).to_have_text("ステーション「other」は見つかりません。")
            expect(page.locator("html")).to_have_attribute("lang", "ja")
            first.kill()
            problem(page, "gone")
        port = first.url.rpartition(":")[2]
        (tmp_path / "other").mkdir()
        with running(tmp_path / "other", arguments=("--port", port)):
            page.locator(".overlay").wait_for(timeout=60_000)


def test_wrong_token_is_called_wrong(browser: Browser, guarded: DaemonProcess) -> None:
    with open_page(browser, viewport=SOURCE) as watched:
        page = watched.page
        page.goto(f"{guarded.url}/overlay/station")
        problem(page, "no_token")
        expect(page.locator("h1")).to_have_text("This page needs the access token.")
        page.goto(f"{guarded.url}/overlay/station?token=guess&lang=es")
        problem(page, "wrong_token")
        expect(page.locator("h1")).to_have_text("El token de acceso es incorrecto.")
        assert page.locator(".stations a").count() == 0
        page.goto(f"{guarded.url}/overlay/station?token=sesame")
        page.locator(".overlay").wait_for()


def test_token_is_typed_once_and_never_in_the_address(
    browser: Browser, tmp_path: Path, locked: tuple[str, ...]
) -> None:
    folder = tmp_path / "station"
    folder.mkdir()
    (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, frames=300))
    with running(folder, arguments=locked) as daemon, open_page(browser, viewport=WIDE) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/")
        field = page.get_by_label("Access token")
        expect(field).to_be_focused()
        expect(page.locator(".station")).to_have_count(0)
        page.keyboard.type("guess")
        page.keyboard.press("Enter")
        expect(page.locator(".login .problem")).to_have_text("The token is wrong.")
        screenshot(page, "login")
        field.fill("sesame")
        page.keyboard.press("Enter")
        expect(page.locator(".station")).to_have_count(1)
        expect(page.locator(".login")).to_be_hidden()
        assert page.url == f"{daemon.url}/"
        page.reload()
        expect(page.locator(".station")).to_have_count(1)
        with page.expect_navigation():
            page.get_by_role("link", name="/v1/stations").click()
        assert '"stations"' in page.locator("body").inner_text()
        assert "sesame" not in page.url
        page.goto(f"{daemon.url}/")
        page.get_by_role("button", name="Log out").click()
        expect(field).to_be_visible()
        page.goto(f"{daemon.url}/?token=open")
        expect(page.locator(".station")).to_have_count(1)
        assert page.url == f"{daemon.url}/"
        expect(page.get_by_label("Overlay address of station, for OBS").last).to_have_value(re.compile("token=open$"))


def test_token_is_remembered_on_request(browser: Browser, guarded: DaemonProcess) -> None:
    with open_page(browser, viewport=WIDE) as watched:
        context = watched.page.context
        watched.page.goto(f"{guarded.url}/")
        watched.page.get_by_label("Access token").fill("open")
        watched.page.get_by_label("Remember on this device").check()
        watched.page.get_by_role("button", name="Log in").click()
        expect(watched.page.locator(".station")).to_have_count(1)
        another = context.new_page()
        another.goto(f"{guarded.url}/")
        expect(another.locator(".station")).to_have_count(1)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(403, "refused"), (421, "wrong_host"), (500, "internal"), (502, "gone"), (503, "starting"), (404, "starting")],
)
def test_every_problem_has_a_text(browser: Browser, plain: DaemonProcess, status: int, kind: str) -> None:
    """The first response is that of the daemon; the following ones are made up."""

    def respond(route: Route) -> None:
        if route.request.is_navigation_request():
            route.continue_()
        else:
            route.fulfill(status=status, content_type="application/problem+json", body="{}")

    with open_page(browser, viewport=SOURCE) as watched:
        page = watched.page
        page.route("**/overlay/x", respond)
        page.route(
            "**/readyz",
            lambda route: route.fulfill(status=503, json={"status": "not ready", "missing": [], "starting": ["x"]}),
        )
        page.goto(f"{plain.url}/overlay/x")
        problem(page, kind)
        assert len(page.locator("h1").inner_text()) > 10
        assert len(page.locator(".advice").inner_text()) > 10
        assert [each for each in watched.complaints if "Failed to load resource" not in each] == []


@pytest.mark.skipif(not AXE.is_file() and not IN_CI, reason="no axe-core; run: npm install --prefix tests/oracles")
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_axe_finds_nothing_serious(browser: Browser, guarded: DaemonProcess, scheme: str) -> None:
    with open_page(browser, viewport=PHONE, color_scheme=scheme, bypass_csp=True) as watched:
        page = watched.page
        for target, shown in (
            ("/overlay/x?token=sesame", "body[data-problem=unknown_station]"),
            ("/nothing?token=sesame", "body[data-problem=not_found]"),
            ("/", ".login"),
        ):
            page.goto(f"{guarded.url}{target}")
            expect(page.locator(shown)).to_be_visible()
            page.evaluate(AXE.read_text(encoding="utf-8"))
            serious(page)
            assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
            screenshot(page, f"problem-{scheme}-{re.sub('[^a-z]+', '-', target)}")


def test_readers_who_change_a_set_are_led_to_the_form(
    browser: Browser, tmp_path: Path, locked: tuple[str, ...]
) -> None:
    folder = tmp_path / "station"
    folder.mkdir()
    with running(folder, arguments=locked) as daemon, open_page(browser, viewport=WIDE) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/?token=sesame")
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
