"""`slpstream.js` for authors of pages: the documented example, and tests in node against a scripted websocket."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browsers.pages import WatchedPage
from tests.daemons.configuration import configuration
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import running
from tests.daemons.requests import correct_set
from tests.project import ROOT
from tests.synthetic.match import synthetic_match
from tests.web.javascript import WITH_A_FAKE_SOCKET, needs_node, run
from tests.web.shown import log_of

DOCUMENTATION = ROOT / "docs" / "howto" / "overlay.md"
FOUR_HITS_BYTES = 130_000
FIVE_HITS_BYTES = 150_000
"""Sizes of a match at which a combo of this many hits is new."""


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
def test_socket_that_fails_without_a_close_is_opened_again() -> None:
    """As node 22 does it if nobody listens on the port. Errors of an open socket are followed by a close."""
    events, count = fake(
        """
      const client = make({ stations: ["a"] });
      while (opened.length < 1) { await new Promise((resolve) => setTimeout(resolve)); }
      const [first] = opened;
      first.fail();
      const second = await sockets(2);
      first.fail();
      second.say(log("frame", "a", "g", 2));
      second.fail();
      client.close();
      return [events, opened.length];
    """
    )
    assert events == ["waiting", "connecting", "open", "g/l2.0"]
    assert count == 2


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


def test_documented_pages_run_in_the_overlay_folder(watched: WatchedPage, page: Page, tmp_path: Path) -> None:
    """The page is opened before a game, during it, and for a station that does not exist."""
    folder, own = tmp_path / "main", tmp_path / "own"
    folder.mkdir()
    own.mkdir()
    text = DOCUMENTATION.read_text(encoding="utf-8")
    files = dict(re.findall(r"`(score\.\w+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL))
    [stream] = re.findall(r"```js\n(import \{ Stream \}.*?)```", text, re.DOTALL)
    files["stream.js"] = stream.replace('"demo"', '"main"')
    files["stream.html"] = files["score.html"].replace("score.js", "stream.js")
    for name, content in files.items():
        (own / name).write_text(content)
    game = PlayedGame(folder / "game.slp", synthetic_match(seed=2, frames=600))

    def frame() -> list[tuple[int, int]]:
        """Percent and stocks of both players in the newest frame that is complete."""
        frames = log_of(game.path).frames
        players = frames[max(frames) - 1][-1]["players"]
        return [(int(players[i]["post"]["percent"]), players[i]["post"]["stocksRemaining"]) for i in "01"]

    def line(*names: str) -> str:
        shown = zip(names, frame(), strict=True)
        return " · ".join(f"{name} {percent}%, {stocks} stocks" for name, (percent, stocks) in shown)

    settings = f"[web]\noverlay_folder = '{own}'\n"
    with running(folder, arguments=configuration(tmp_path, settings), state=tmp_path / "state") as daemon:
        players, combo, note = (page.locator(f"#{name}") for name in ("players", "combo", "note"))
        page.goto(f"{daemon.url}/custom/score.html?station=main")
        daemon.until(lambda: daemon.get("/v1/stations")["stations"][0]["subscribers"] == 1)
        game.write(FOUR_HITS_BYTES)
        one, two = (setup["displayName"] for setup in log_of(game.path).settings["players"])
        expect(players).to_have_text(line(one, two))
        expect(combo).to_have_text(f"{one}: 4 hits on {two}")
        page.reload()
        expect(players).to_have_text(line(one, two))
        expect(combo).to_have_text("")
        correct_set(daemon, "main", {"names": {"1": "<b>Mika"}})
        expect(players).to_have_text(line(one, "<b>Mika"))
        game.write(FIVE_HITS_BYTES - FOUR_HITS_BYTES)
        expect(players).to_have_text(line(one, "<b>Mika"))
        expect(combo).to_have_text(f"{one}: 5 hits on <b>Mika")
        page.goto(f"{daemon.url}/custom/stream.html")
        expect(players).to_have_text(" · ".join(f"{percent}%" for percent, _ in frame()))
        watched.check(daemon.url)
        page.goto(f"{daemon.url}/custom/score.html?station=other")
        expect(note).to_have_text("no such station: other")
        watched.check(daemon.url)
