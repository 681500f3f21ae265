"""The jitter buffer on a controlled clock: `playout.js` in node, at 60 pictures per second."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.web.javascript import needs_node, run

pytestmark = needs_node

FRAME_MS = 1000 / 60
MAX_BEHIND_MS = 150
PICTURE_MS = 1000 / 60

PLAY = """
  const { Playout } = await import("./playout.js");
  const pictures = [];
  let shown = [];
  const playout = new Playout((message) => shown.push(message.id), given.delay);
  let next = 0;
  for (let n = 0, now = given.from; now < given.until; n++) {
    // Neither screens nor timers are exact.
    now = given.from + n * given.picture + ((n * 7919) % 7 - 3) * given.unsteady;
    for (; next < given.messages.length && given.messages[next].at <= now; next++) {
      playout.push(given.messages[next].message, given.messages[next].at);
    }
    playout.advance(now);
    pictures.push([now, shown]);
    shown = [];
  }
  return pictures;
"""


def start(at: float, game: str = "g") -> dict[str, Any]:
    return {"at": at, "message": {"type": "game_start", "gameId": game, "rate": [60, 1], "id": "start"}}


def frame(number: int, at: float, game: str = "g") -> dict[str, Any]:
    return {"at": at, "message": {"type": "frame", "gameId": game, "frame": {"frame": number}, "id": number}}


def event(number: int, at: float) -> dict[str, Any]:
    return {"at": at, "message": {"type": "event", "gameId": "g", "frame": number, "id": f"event {number}"}}


def play(
    messages: Sequence[dict[str, Any]],
    *,
    delay: float = 0,
    picture: float = PICTURE_MS,
    unsteady: float = 0.5,
) -> list[tuple[float, list[Any]]]:
    """Play the messages and return the pictures as (time, news)."""
    given = {
        "messages": list(messages),
        "delay": delay,
        "picture": picture,
        "unsteady": unsteady,
        "from": 3.0,
        "until": messages[-1]["at"] + delay + 500,
    }
    return [(now, shown) for now, shown in run(PLAY, given)]


def in_bursts(frames: int, every_ms: float) -> list[dict[str, Any]]:
    """Frames that are produced every sixtieth of a second and arrive in bursts."""
    arrive = [every_ms * -(-((number + 1) * FRAME_MS) // every_ms) for number in range(frames)]
    return [start(0), *(frame(number, at) for number, at in enumerate(arrive))]


def newest(pictures: Sequence[tuple[float, list[Any]]]) -> list[int]:
    """The newest frame of each picture, from the first frame on."""
    shown, last = [], None
    for _, new in pictures:
        last = next((number for number in reversed(new) if isinstance(number, int)), last)
        if last is not None:
            shown.append(last)
    return shown


@pytest.mark.parametrize("every_ms", [FRAME_MS, 50, 85])
def test_bursts_are_spread_out(every_ms: float) -> None:
    pictures = play(in_bursts(900, every_ms))
    shown = newest(pictures)
    steps = [b - a for a, b in pairwise(shown)][60:-60]
    assert sum(step == 1 for step in steps) >= 0.97 * len(steps)
    assert set(steps) <= {0, 1, 2}
    assert shown[-1] == 899


def test_one_frame_per_animation_frame_despite_jitter() -> None:
    """Frames that are due exactly when the page is drawn must not alternate between zero and two per picture."""
    for late_ms in (0.0, 4.0, 8.0, 12.0):
        messages = [start(0), *(frame(number, number * FRAME_MS + late_ms) for number in range(600))]
        shown = newest(play(messages, unsteady=1.5))
        steps = [b - a for a, b in pairwise(shown)][60:-60]
        assert sum(step != 1 for step in steps) <= 6, late_ms


@pytest.mark.parametrize("hertz", [30, 144, 240])
def test_other_refresh_rates(hertz: int) -> None:
    pictures = play(in_bursts(600, 85), picture=1000 / hertz)
    times = {number: now for now, new in pictures for number in new if isinstance(number, int)}
    assert sorted(times) == list(range(600))
    lags = [times[number] - number * FRAME_MS for number in range(120, 590)]
    assert max(lags) - min(lags) < 1.5 * max(FRAME_MS, 1000 / hertz) + 5


@pytest.mark.parametrize("every_ms", [85, 255, 400])
def test_delay_stays_small(every_ms: float) -> None:
    messages = in_bursts(600, every_ms)
    arrived = {m["message"]["id"]: m["at"] for m in messages}
    for now, new in play(messages):
        for number in new:
            if isinstance(number, int) and arrived.get(number + 1, 0) != arrived[number]:  # the last frame of its burst
                assert now - arrived[number] <= MAX_BEHIND_MS + 2 * PICTURE_MS


def test_catches_up_after_a_stall_and_continues_after_a_pause() -> None:
    steady = [frame(number, number * FRAME_MS) for number in range(120)]
    stalled = [frame(number, 3000) for number in range(120, 180)]  # a second of frames together
    onward = [frame(number, number * FRAME_MS) for number in range(180, 300)]
    paused = [frame(number, number * FRAME_MS + 10_000) for number in range(300, 420)]
    pictures = play([start(0), *steady, *stalled, *onward, *paused])
    at = {number: now for now, new in pictures for number in new if isinstance(number, int)}
    assert sorted(at) == list(range(420))
    assert at[179] < 3000 + MAX_BEHIND_MS + 2 * PICTURE_MS
    assert at[419] - (419 * FRAME_MS + 10_000) < MAX_BEHIND_MS
    steps = [at[number + 1] - at[number] for number in range(310, 418)]
    assert max(steps) < 3 * PICTURE_MS, "the pause causes no speed-up"


def test_events_and_the_end_are_shown_with_their_frames() -> None:
    messages = in_bursts(200, 85)
    at = {m["message"]["id"]: m["at"] for m in messages}
    for number in (50, 51, 120):
        messages.insert(
            next(i for i, m in enumerate(messages) if m["message"]["id"] == number) + 1, event(number, at[number])
        )
    messages.append({"at": at[199], "message": {"type": "game_end", "gameId": "g", "id": "end"}})
    pictures = play(messages)
    for _, new in pictures:
        for name in new:
            if isinstance(name, str) and name.startswith("event"):
                assert new[new.index(name) - 1] == int(name.split()[1])
    everything = [name for _, new in pictures for name in new]
    assert everything == [m["message"]["id"] for m in messages], "each once and in order"


def test_rollback_never_goes_back() -> None:
    steady = [frame(number, number * FRAME_MS) for number in range(60)]
    again = [frame(number, 60 * FRAME_MS + (0 if number < 57 else 20)) for number in range(54, 60)]
    onward = [frame(number, number * FRAME_MS + 20) for number in range(60, 120)]
    pictures = play([start(0), *steady, *again, *onward])
    shown = newest(pictures)
    assert shown == sorted(shown)
    assert [name for _, new in pictures for name in new].count(59) == 2, "the displayed frame is corrected"
    steps = [b - a for a, b in pairwise(shown)][:-40]
    assert sum(steps) / len(steps) > 0.97, "a rollback does not count as lag"


def test_configured_delay_applies_to_all_messages() -> None:
    messages = [*in_bursts(120, 85), event(119, 2040)]
    at = {m["message"]["id"]: m["at"] for m in messages}
    pictures = play(messages, delay=700)
    for now, new in pictures:
        for name in new:
            assert 700 <= now - at[name] <= 700 + MAX_BEHIND_MS + 2 * PICTURE_MS
    assert newest(pictures)[-1] == 119


def test_next_game_begins_immediately() -> None:
    first = in_bursts(60, 85)
    second = [start(first[-1]["at"], "h"), frame(-123, first[-1]["at"], "h"), frame(-122, first[-1]["at"] + 17, "h")]
    names = [name for _, new in play([*first, *second]) for name in new]
    assert names == ["start", *range(60), "start", -123, -122]


def test_hidden_page_has_a_bounded_queue() -> None:
    script = """
      const { Playout } = await import("./playout.js");
      let shown = 0;
      const playout = new Playout(() => { shown += 1; }, given);
      playout.push({ type: "game_start", gameId: "g" }, 0);
      for (let n = 0; n < 100000; n++) {
        playout.push({ type: "frame", gameId: "g", frame: { frame: n } }, n * 16.7);
      }
      return shown;
    """
    for delay in (0, 500):
        assert run(script, delay) >= 95_000


def test_view_shows_the_newest_game() -> None:
    """`StationView` takes the messages that are played out."""
    script = """
      const { StationView } = await import("./slpstream.js");
      const view = new StationView("station");
      return given.map((message) => {
        view.take(message);
        const percent = view.game?.players.get(0)?.post.percent ?? null;
        return [view.game?.gameId ?? null, view.cursor, percent, view.catchingUp];
      });
    """

    def entry(game: str, number: int, percent: float) -> dict[str, Any]:
        players = {"0": {"post": {"percent": percent}}}
        shown = {"frame": number, "players": players}
        return {"type": "frame", "gameId": game, "cursor": f"{game}/l{number}", "frame": shown}

    def begin(game: str) -> dict[str, Any]:
        return {"type": "game_start", "gameId": game, "cursor": f"{game}/l0", "format": "slippi", "settings": {}}

    playing = {"type": "station", "state": "playing", "gameId": "b"}
    messages = [entry("a", 1, 1), begin("a"), entry("a", 5, 12.5), playing, begin("b"), entry("a", 6, 30)]
    assert run(script, [*messages, entry("b", 1, 0)]) == [
        [None, None, None, False],
        ["a", "a/l0", None, False],
        ["a", "a/l5", 12.5, False],
        ["a", "a/l5", 12.5, True],
        ["b", "b/l0", None, False],
        ["b", "b/l0", None, False],
        ["b", "b/l1", 0, False],
    ]


def test_damage_colour_goes_from_white_through_yellow_to_red() -> None:
    script = 'const { damageColour } = await import("./slippi.js"); return given.map(damageColour);'
    colours = run(script, [0, 20, 60, 100, 140, 250, 999])
    red, green, blue = zip(*(map(int, re.findall(r"\d+", colour)) for colour in colours), strict=True)
    assert (red[0], green[0], blue[0]) == (255, 255, 255)
    assert list(green) == sorted(green, reverse=True)
    assert blue[2] < 100 < 180 < green[2]
    assert max(green[4:]) < 80 < 200 < min(red)
