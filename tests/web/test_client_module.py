"""`slpstream.js` for authors of pages: the documented example, and tests in node against a scripted websocket."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browsers.pages import WatchedPage
from tests.daemons.configuration import configuration
from tests.daemons.process import running
from tests.project import ROOT
from tests.web.javascript import WITH_A_FAKE_SOCKET, needs_node, run
from tests.web.shown import game_file, log_of, written_live

DOCUMENTATION = ROOT / "docs" / "howto" / "overlay.md"


def fake(script: str) -> Any:
    return run(WITH_A_FAKE_SOCKET + script, None)


@needs_node
def test_one_station_is_in_the_url_and_is_resumed() -> None:
    urls, sent, events, cursors = fake(
        """
      const client = make({ stations: ["a"], topics: ["game", "frame"], rate: 30, token: "t" });
      const first = await sockets(1);
      first.say(log("game_start", "a", "g", 1));
      first.say(log("frame", "a", "g", 2));
      first.say(log("frame", "a", "older", 9));
      first.lose();
      const second = await sockets(2);
      second.say(log("frame", "a", "g", 3));
      const { cursors } = client;
      client.close();
      second.say(log("frame", "a", "g", 4));
      return [opened.map(({ url }) => url), [first.sent, second.sent], events, cursors];
    """
    )
    base = "wss://example.org:1/x/v1/stream?station=a&topics=game,frame&rate=30&cursor="
    assert urls == [f"{base}live&token=t", f"{base}g/l2.0&token=t"]
    assert sent == [[], []]
    assert events == ["open", "g/l2.0", "older/l9.0", "waiting", "connecting", "open", "g/l3.0"]
    assert cursors == {"a": "g/l3.0"}


@needs_node
def test_several_stations_resume_at_their_own_cursors() -> None:
    urls, sent = fake(
        """
      const client = make({});
      const first = await sockets(1);
      first.say({ ...log("snapshot", "a", "g", 1), frame: {} });
      first.say(log("game_start", "b", "h", 5));
      first.lose();
      const second = await sockets(2);
      client.close();
      return [opened.map(({ url }) => url), [first.sent, second.sent]];
    """
    )
    assert urls == ["wss://example.org:1/x/v1/stream?station=*&cursor=live", "wss://example.org:1/x/v1/stream"]
    assert sent == [[], [{"op": "subscribe", "cursor": {"a": "g/l1.0", "b": "h/l5.0"}}]]


@needs_node
@pytest.mark.parametrize(
    ("code", "expected"),
    [(4410, ["live", "reset a"]), (4404, ["live", "reset a"]), (1013, ["g/l1.0", None]), (1006, ["g/l1.0", None])],
)
def test_gone_cursor_is_reported_and_the_client_continues_live(code: int, expected: list[Any]) -> None:
    for options in ("{ stations: ['a'] }", "{ stations: ['a'], cursor: 'g/l1.0' }"):
        url, reset_event, problem = fake(
            f"""
          const client = make({options});
          const first = await sockets(1);
          first.say(log("game_start", "a", "g", 1));
          first.lose({code}, "no");
          await sockets(2);
          client.close();
          const asked = new URL(opened[1].url).searchParams.get("cursor");
          return [asked, events.find((what) => what.startsWith("reset")) ?? null, client.problem];
        """
        )
        assert [url, reset_event] == expected
        assert problem == ""


@needs_node
def test_subscription_can_be_replaced() -> None:
    sent, events = fake(
        """
      const client = make({ stations: ["a"], topics: ["frame"] });
      const socket = await sockets(1);
      socket.say(log("game_start", "a", "g", 1));
      client.subscribe({ rate: 6 });
      client.subscribe({ stations: ["b"] });
      socket.say(log("game_start", "b", "h", 2));
      client.subscribe({ frames: "finalized" });
      client.close();
      return [socket.sent, events];
    """
    )
    assert sent == [
        {"op": "subscribe", "stations": ["a"], "topics": ["frame"], "rate": 6, "cursor": {"a": "g/l1.0"}},
        {"op": "subscribe", "stations": ["b"], "topics": ["frame"], "rate": 6, "cursor": "live"},
        {"op": "subscribe", "stations": ["b"], "topics": ["frame"], "rate": 6, "frames": "finalized", "cursor": "live"},
    ]
    assert events == ["open", "reset a", "reset b"]


@needs_node
def test_refusal_is_reported_and_the_cursor_kept() -> None:
    problem, cursors, count = fake(
        """
      const client = make({ stations: ["a"], cursor: "g/l1.0" });
      const socket = await sockets(1);
      socket.say(log("frame", "a", "g", 2));
      socket.say({ type: "error", code: 4401, message: "a token is required" });
      socket.lose(4401, "a token is required");
      await new Promise((resolve) => setTimeout(resolve, 700));
      const { problem, cursors } = client;
      client.close();
      return [problem, cursors, opened.length];
    """
    )
    assert (problem, cursors, count) == ("a token is required", {"a": "g/l2.0"}, 1)


def test_documented_example_runs_in_the_overlay_folder(watched: WatchedPage, page: Page, tmp_path: Path) -> None:
    folder, own = tmp_path / "main", tmp_path / "own"
    folder.mkdir()
    own.mkdir()
    text = DOCUMENTATION.read_text(encoding="utf-8")
    for language, name in (("html", "score.html"), ("js", "score.js")):
        example = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
        assert example is not None
        (own / name).write_text(example[1])
    replay = game_file("FodPlatforms", tmp_path)
    setups = log_of(replay).settings["players"]  # before the game runs, because the line does not wait for it
    with (
        running(folder, arguments=configuration(tmp_path, f"[web]\noverlay_folder = '{own}'\n")) as daemon,
    ):
        page.goto(f"{daemon.url}/custom/score.html")
        line = page.locator("#line")
        expect(line).to_have_css("opacity", "1")
        daemon.until(lambda: daemon.get("/v1/stations")["stations"][0]["subscribers"] == 1)
        with written_live(replay, folder, speed=4.0):
            expect(line).to_have_text(" against ".join(p["displayName"] or f"P{p['port']}" for p in setups))
        assert [text for text in watched.complaints if "favicon" not in text and "404" not in text] == []
