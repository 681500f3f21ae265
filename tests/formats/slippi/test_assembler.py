"""The rules of complete frames, final frames and rollbacks, each on a few events made for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

from slpstream.formats.slippi.assembler import MAX_LAG_FRAMES, Assembler
from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    ITEM_UPDATE,
    MAX_REPEATED_EVENTS,
    POST_FRAME,
    PRE_FRAME,
    WHISPY,
)
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized
from slpstream.model.fields import Table
from tests.formats.slippi import built
from tests.formats.slippi.built import Built, bookend, event, item, post, pre, start
from tests.formats.slippi.logs import Logs, logs_of

pytestmark = pytest.mark.usefixtures("with_and_without_kernel")


class Harness:
    """An assembler, and a short form of its output.

    `5` is a frame, `5r1` its second sending, and `<=5` means that frames up to 5 are final.
    """

    def __init__(
        self,
        *,
        bookends: bool = True,
        online: bool | None = None,
        finalized_field: bool = False,
        players: Iterable[int] = (),
    ) -> None:
        self.out: list[Event] = []
        self._diagnosed: list[str] = []
        widths = [0] * 256
        widths[FRAME_BOOKEND.command] = FRAME_BOOKEND.fields[finalized_field].end if bookends else 0
        self.assembler = Assembler(DiagnosticLimiter(), tuple(widths), players, online=online)
        self._offset = 0
        self._newest: dict[int, Frame] = {}
        """The latest sending of each frame that is not final."""
        self._through: int | None = None

    def end(self) -> int:
        """The file offset just past the next event."""
        self._offset += 10
        return self._offset

    def add(self, table: Table, event: Any) -> None:
        self.assembler.take(table.command, event, self.end(), self.out)

    def pres(self, number: int, *players: int) -> None:
        for player in players or (0, 1):
            self.add(PRE_FRAME, pre(number, player))

    def posts(self, number: int, *players: int) -> None:
        for player in players or (0, 1):
            self.add(POST_FRAME, post(number, player))

    def bookend(self, number: int, finalized: int | None = None) -> None:
        self.add(FRAME_BOOKEND, bookend(number, finalized))

    def frame(self, number: int, finalized: int | None = None) -> None:
        """A whole frame, from its Frame Start to its Frame Bookend."""
        self.add(FRAME_START, start(number))
        self.pres(number)
        self.posts(number)
        self.bookend(number, finalized)

    def output(self) -> str:
        """The short form of the output since the last call."""
        words = []
        for emitted in self._taken():
            if isinstance(emitted, Frame):
                words.append(f"{emitted.number}r{emitted.revision}" if emitted.revision else f"{emitted.number}")
            else:
                assert isinstance(emitted, FrameFinalized)
                words.append(f"<={emitted.through}")
        return " ".join(words)

    def entries(self) -> list[Any]:
        """The frames since the last call, in the form of messages."""
        return [msgspec.to_builtins(f.entry, str_keys=True) for f in self._taken() if isinstance(f, Frame)]

    @property
    def diagnostics(self) -> list[str]:
        """The codes of all diagnostics so far."""
        return self._diagnosed + _codes(self.out)

    def _taken(self) -> list[Event]:
        out = list(self.out)
        self.out.clear()
        self._diagnosed += _codes(out)
        events = [event for event in out if not isinstance(event, Diagnostic)]
        for emitted in events:
            if isinstance(emitted, Frame):
                if self._through is None or emitted.number > self._through:
                    self._newest[emitted.number] = emitted
            elif isinstance(emitted, FrameFinalized):
                self._through = emitted.through
                final = [self._newest.pop(number) for number in sorted(self._newest) if number <= emitted.through]
                assert [frame.end_offset for frame in emitted.frames] == [frame.end_offset for frame in final]
        return events


def _codes(events: list[Event]) -> list[str]:
    return [event.code for event in events if isinstance(event, Diagnostic)]


def frames(*numbers: int, final: int) -> list[tuple[int, int]]:
    """Frames whose bookends have the same latest finalized frame."""
    return [(number, final) for number in numbers]


OFFLINE: Mapping[str, Any] = {"online": False, "finalized_field": True}
ONLINE: Mapping[str, Any] = {"online": True, "finalized_field": True}
BY_AGE: Mapping[str, Any] = {}
"""Versions 3.0 to 3.6, which do not declare final frames."""
FRAMES: Mapping[str, tuple[Mapping[str, Any], list[tuple[int, int]], str, list[str]]] = {
    "offline, a frame is final at its bookend": (
        OFFLINE,
        frames(-123, -122, final=-124),
        "-123 <=-123 -122 <=-122",
        [],
    ),
    "offline, a final frame again": (OFFLINE, frames(1, 2, 1, final=0), "1 <=1 2 <=2 1r1", ["final_frame_again"]),
    "online, the bookend decides": (
        ONLINE,
        [(-123, -124), (-122, -124), (-121, -122), (-120, -122)],
        "-123 -122 -121 <=-122 -120 <=-120",
        [],
    ),
    "online, what is final stays final": (
        ONLINE,
        [(1, 0), (2, 1), (3, 2), (4, 0), (5, 4)],
        "1 2 <=1 3 <=2 4 5 <=4 <=5",
        [],
    ),
    "online, future frames are not final": (ONLINE, frames(1, 2, final=1000), "1 <=1 2 <=2", []),
    "revisions count sendings": (
        ONLINE,
        frames(1, 2, 3, 2, 3, 4, 3, 4, 5, final=1),
        "1 <=1 2 3 2r1 3r1 4 3r2 4r1 5 <=5",
        [],
    ),
    "a gap is not a rollback": (
        ONLINE,
        frames(1, 2, 10, 11, 3, 10, 3, 12, final=0),
        "1 2 10 11 3 10r1 3r1 12 <=12",
        [],
    ),
    "numbers below the first": (ONLINE, frames(5, 4, 5, 4, 3, 6, final=-124), "5 4 5r1 4r1 3 6 <=6", []),
    "by age, after seven newer ones": (
        BY_AGE,
        frames(*range(9), 8, final=0),
        "0 1 2 3 4 5 6 7 <=0 8 <=1 8r1 <=8",
        [],
    ),
    "online, a bookend without the field": (
        {"online": True},
        frames(*range(9), 8, final=0),
        "0 1 2 3 4 5 6 7 <=0 8 <=1 8r1 <=8",
        [],
    ),
    "by age, a rollback of seven frames": (
        BY_AGE,
        frames(*range(8), *range(1, 9), final=0),
        "0 1 2 3 4 5 6 7 <=0 1r1 2r1 3r1 4r1 5r1 6r1 7r1 8 <=1 <=8",
        [],
    ),
    "by age, numbers out of order count by rank": (
        BY_AGE,
        frames(10, *range(1, 8), final=0),
        "10 1 2 3 4 5 6 7 <=1 <=10",
        [],
    ),
}
"""The kind of game; the number and the latest finalized frame of each frame; output with a clean end; diagnostics."""


@pytest.mark.parametrize(("kind", "sendings", "output", "diagnostics"), FRAMES.values(), ids=FRAMES)
def test_frames(kind: Mapping[str, Any], sendings: list[tuple[int, int]], output: str, diagnostics: list[str]) -> None:
    harness = Harness(**kind)
    for number, finalized in sendings:
        harness.frame(number, finalized)
    harness.assembler.finish(harness.end(), harness.out, clean=True)
    assert harness.output() == output
    assert harness.diagnostics == diagnostics
    harness.assembler.finish(harness.end(), harness.out, clean=True)
    assert harness.output() == ""


def test_online_stuck_finalized_frame_keeps_a_bounded_lag() -> None:
    harness = Harness(online=True, finalized_field=True)
    for number in range(MAX_LAG_FRAMES):
        harness.frame(number, finalized=-124)
    assert "<=" not in harness.output()
    harness.frame(MAX_LAG_FRAMES, finalized=-124)
    assert harness.output() == f"{MAX_LAG_FRAMES} <={MAX_LAG_FRAMES // 2 + 1}"
    assert harness.diagnostics == ["finality_lag"]


def test_before_3_0_frame_is_final_at_its_last_post_frame_update() -> None:
    harness, end = Harness(bookends=False, players=(0, 1)), 0
    for number in (-123, -122):
        harness.pres(number)
        harness.posts(number, 0)
        assert harness.output() == ""
        harness.posts(number, 1)
        assert {emitted.end_offset for emitted in harness.out} == {end := end + 40}
        assert harness.output() == f"{number} <={number}"
    harness.assembler.finish(harness.end(), harness.out, clean=True)
    assert harness.output() == ""
    assert harness.diagnostics == []


def test_before_3_0_frame_without_a_known_player_waits_for_the_next() -> None:
    """Whether a player has gone or comes later is not known; the frame after that knows."""
    harness = Harness(bookends=False, players=(0, 1))
    for number, outcome in ((1, ""), (2, "1 <=1 2 <=2")):
        harness.pres(number, 0)
        harness.posts(number, 0)
        assert harness.output() == outcome
    assert harness.diagnostics == []


def test_before_3_0_last_frame_without_a_known_player_is_complete_at_a_clean_end() -> None:
    harness = Harness(bookends=False, players=(0, 1))
    harness.pres(1, 0)
    harness.posts(1, 0)
    harness.assembler.finish(harness.end(), harness.out, clean=True)
    assert harness.output() == "1 <=1"


def test_before_3_0_followers_come_and_go() -> None:
    harness = Harness(bookends=False, players=(0, 1))

    outcomes = []
    for number, with_nana in ((1, True), (2, True), (3, False), (4, False), (5, True)):
        harness.pres(number)
        if with_nana:
            harness.add(PRE_FRAME, pre(number, 1, follower=True))
        harness.posts(number)
        if with_nana:
            assert harness.output() == "", "the frame waits for the follower"
            harness.add(POST_FRAME, post(number, 1, follower=True))
        outcomes.append(harness.output())
    assert outcomes == ["1 <=1", "2 <=2", "", "3 <=3 4 <=4", "5 <=5"]
    assert harness.diagnostics == []


def test_before_3_0_next_frame_waits_for_a_late_character() -> None:
    harness = Harness(bookends=False)
    for number in (1, 2):
        for player in (0, 1):
            harness.pres(number, player)
            harness.posts(number, player)
    first, second = harness.entries()
    assert (list(first["players"]), list(second["players"])) == (["0"], ["0", "1"])
    assert harness.diagnostics == ["late_event"] * 2


def test_before_3_0_late_events_have_no_effect() -> None:
    harness = Harness(bookends=False)
    harness.pres(1)
    harness.posts(1)
    harness.add(POST_FRAME, post(1, 0, percent=99.0))
    harness.add(ITEM_UPDATE, item(1))
    harness.add(WHISPY, event(WHISPY, frame=1))
    harness.pres(2)
    harness.posts(2)
    first, second = harness.entries()
    assert first["players"]["0"]["post"]["percent"] == 0.0
    assert "items" not in {**first, **second}
    assert "stageEvents" not in {**first, **second}
    assert harness.diagnostics == ["late_event"] * 3


def test_before_3_0_complete_frame_outlives_an_unclean_end() -> None:
    harness = Harness(bookends=False)
    harness.pres(1)
    harness.posts(1)
    harness.pres(2)
    harness.assembler.finish(harness.end(), harness.out, clean=False)
    assert harness.output() == "1 <=1"


def test_since_2_2_frame_start_begins_the_next_frame() -> None:
    harness = Harness(bookends=False)
    harness.add(FRAME_START, start(1))
    harness.pres(1)
    harness.add(FRAME_START, start(2))
    assert harness.output() == "1 <=1"


def test_before_3_0_repeated_player_begins_a_new_sending() -> None:
    harness = Harness(bookends=False)
    for _ in range(3):
        harness.pres(5)
        harness.posts(5)
    harness.pres(6)
    assert harness.output() == "5 <=5 5r1 5r2"
    assert harness.diagnostics == ["final_frame_again"] * 2


def test_unclean_end_drops_the_open_frame() -> None:
    harness = Harness(online=True, finalized_field=True)
    harness.frame(1, finalized=0)
    harness.pres(2)
    harness.assembler.finish(harness.end(), harness.out, clean=False)
    assert harness.output() == "1 <=1"


def test_new_sending_starts_empty() -> None:
    harness = Harness(online=True, finalized_field=True)
    for spawn_ids in ((1, 2), (3,), ()):
        harness.add(FRAME_START, start(7))
        harness.pres(7)
        for spawn_id in spawn_ids:
            harness.add(ITEM_UPDATE, item(7, spawn_id))
            harness.add(WHISPY, event(WHISPY, frame=7, direction=spawn_id))
        harness.bookend(7, 0)
    first, second, third = harness.entries()
    assert [i["spawnId"] for i in first["items"]] == [1, 2]
    assert [i["spawnId"] for i in second["items"]] == [3]
    assert second["stageEvents"] == [{"kind": "whispy", "frame": 7, "direction": 3}]
    assert "items" not in third
    assert "stageEvents" not in third
    assert "post" not in third["players"]["0"]


def test_finalized_log_keeps_the_first_sending_of_a_final_frame() -> None:
    game = Built((3, 18, 0)).frame(1, percent=1.0).frame(2, percent=2.0).frame(1, percent=99.0).frame(3)
    logs = logs_of([game.end().closed()])
    assert finalized_percents(logs) == {1: 1.0, 2: 2.0, 3: 0.0}
    assert [m["code"] for m in logs.of_type("diagnostic")] == ["final_frame_again"]


def test_finalized_log_has_the_last_sending_before_the_end() -> None:
    game = Built((3, 18, 0), major_scene=built.ONLINE)
    game.frame(1, finalized=0, percent=1.0).frame(2, finalized=0, percent=2.0).frame(2, finalized=1, percent=22.0)
    logs = logs_of([game.end().closed()])
    assert finalized_percents(logs) == {1: 1.0, 2: 22.0}
    revisions = [msgspec.json.decode(m.entry())["revision"] for m in logs.finalized if m.frame is not None]
    assert revisions == [0, 1]


def finalized_percents(logs: Logs) -> dict[int, float]:
    entries = [msgspec.json.decode(m.entry()) for m in logs.finalized if m.frame is not None]
    return {entry["frame"]: entry["players"]["0"]["post"]["percent"] for entry in entries}


def test_frame_without_bookend_ends_where_the_next_begins() -> None:
    harness = Harness(online=False, finalized_field=True)
    harness.add(FRAME_START, start(1))
    harness.pres(1)
    harness.frame(2)
    assert harness.output() == "1 2 <=2"
    assert harness.diagnostics == ["frame_without_bookend"]
    harness.pres(3)
    harness.assembler.finish(harness.end(), harness.out, clean=True)
    assert harness.output() == "3 <=3"
    assert harness.diagnostics == ["frame_without_bookend"] * 2


def test_bookend_without_frame() -> None:
    harness = Harness(online=False, finalized_field=True)
    harness.bookend(1)
    assert harness.output() == "1 <=1"
    assert harness.diagnostics == ["empty_frame"]


def test_end_offset_is_that_of_the_completing_event() -> None:
    harness = Harness(online=False, finalized_field=True)
    harness.frame(1)
    assert [emitted.end_offset for emitted in harness.out] == [60, 60]


def test_last_frame_is_the_latest_sending_of_the_highest_number() -> None:
    harness = Harness(online=True, finalized_field=True)
    for number in (1, 2, 3, 2, 3, 2):
        harness.frame(number, finalized=0)
    last = harness.assembler.frames.last
    assert last is not None
    assert (last.number, last.revision) == (3, 1)


def test_format_neutral_view_of_a_player() -> None:
    harness = Harness()
    harness.add(PRE_FRAME, pre(1, 0, joystick_x=0.5, joystick_y=-1.0, physical_buttons=0x1110))
    harness.add(POST_FRAME, post(1, 0, position_x=1.5, position_y=2.5, percent=42.0))
    harness.pres(1, 1)
    harness.posts(1, 2)
    harness.bookend(1)
    frame = harness.out[0]
    assert isinstance(frame, Frame)
    inputs, state = frame.players[0].inputs, frame.players[0].state
    assert inputs is not None
    assert (inputs.steer, inputs.pitch, inputs.buttons) == (0.5, -1.0, frozenset({"z", "a", "start"}))
    assert state is not None
    assert (state.position, state.damage, state.lives) == ((1.5, 2.5), 42.0, 4)
    assert frame.players[1].state is None
    assert frame.players[2].inputs is None


def test_more_items_than_the_limit() -> None:
    harness = Harness()
    for spawn_id in range(MAX_REPEATED_EVENTS + 2):
        harness.add(ITEM_UPDATE, item(1, spawn_id))
    harness.bookend(1)
    (entry,) = harness.entries()
    assert len(entry["items"]) == MAX_REPEATED_EVENTS
    assert harness.diagnostics == ["crowded_frame"] * 2


def test_frames_without_bookends_keep_a_bounded_lag() -> None:
    harness = Harness()
    for number in range(MAX_LAG_FRAMES + 2):
        harness.add(FRAME_START, start(number))
    assert harness.output().endswith(f"{MAX_LAG_FRAMES} <={MAX_LAG_FRAMES // 2 + 1}")
    assert harness.diagnostics.count("finality_lag") == 1


def test_more_numbers_out_of_order_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.formats.slippi.frame_numbers.MAX_PAGES", 3)
    harness = Harness(online=False, finalized_field=True)
    for number in (1, 100, 200, 300, 300, 400, 300):
        harness.frame(number)
    assert harness.output() == "1 <=1 100 <=100 200 <=200 300 <=300 300 400 <=400 300r1"
    assert harness.diagnostics == ["numbers_forgotten", "final_frame_again", "final_frame_again"]
