"""When frames are complete, when they are final, and what a rollback does: each rule on a few events made by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from slpstream.formats.slippi import commands
from slpstream.formats.slippi.assembler import MAX_LAG_FRAMES, ROLLBACK_FRAMES, Assembler
from slpstream.formats.slippi.commands import MAX_THINGS
from slpstream.formats.slippi.diagnostics import DiagnosticLimiter
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized
from tests.formats.slippi.built import ONLINE, Built, bookend, event, item, post, pre, start
from tests.formats.slippi.logs import Logs, logs_of


class Bench:
    """An assembler, and what it said in short: `"5"` a frame, `"5r1"` its second sending, `"<=5"` final up to there."""

    def __init__(self, *, bookends: bool = True, online: bool | None = None, finalized_field: bool = False) -> None:
        self._diagnosed: list[str] = []
        self.assembler = Assembler(
            DiagnosticLimiter(), bookends=bookends, online=online, finalized_field=finalized_field
        )
        self._offset = 0

    def end(self) -> int:
        """The offset past the next event."""
        self._offset += 10
        return self._offset

    def pres(self, number: int, *players: int) -> None:
        for player in players or (0, 1):
            self.assembler.pre_frame(pre(number, player), self.end())

    def posts(self, number: int, *players: int) -> None:
        for player in players or (0, 1):
            self.assembler.post_frame(post(number, player), self.end())

    def bookend(self, number: int, finalized: int | None = None) -> None:
        self.assembler.bookend(bookend(number, finalized), self.end())

    def frame(self, number: int, finalized: int | None = None) -> None:
        """A whole frame with its start and its bookend."""
        self.assembler.frame_start(start(number), self.end())
        self.pres(number)
        self.posts(number)
        self.bookend(number, finalized)

    def said(self) -> str:
        """What came out since the last call."""
        words = []
        for said in self._taken():
            if isinstance(said, Frame):
                words.append(f"{said.number}r{said.revision}" if said.revision else f"{said.number}")
            else:
                assert isinstance(said, FrameFinalized)
                words.append(f"<={said.through}")
        return " ".join(words)

    def entries(self) -> list[Any]:
        """The frames that came out since the last call, as they go onto the wire."""
        return [msgspec.to_builtins(f.entry, str_keys=True) for f in self._taken() if isinstance(f, Frame)]

    @property
    def diagnostics(self) -> list[str]:
        """The codes so far."""
        return self._diagnosed + _codes(self.assembler.out)

    def _taken(self) -> list[Event]:
        out = list(self.assembler.out)
        self.assembler.out.clear()
        self._diagnosed += _codes(out)
        return [event for event in out if not isinstance(event, Diagnostic)]


def _codes(events: list[Event]) -> list[str]:
    return [event.code for event in events if isinstance(event, Diagnostic)]


# -- the four ways to become final ------------------------------------------------------------------------------------


def test_offline_with_bookends_a_frame_is_final_at_its_bookend() -> None:
    bench = Bench(online=False, finalized_field=True)
    bench.frame(-123, finalized=-124)
    bench.frame(-122, finalized=-124)
    assert bench.said() == "-123 <=-123 -122 <=-122"


def test_online_the_bookend_says_what_is_final() -> None:
    bench = Bench(online=True, finalized_field=True)
    bench.frame(-123, finalized=-124)
    bench.frame(-122, finalized=-124)
    assert bench.said() == "-123 -122"
    bench.frame(-121, finalized=-122)
    assert bench.said() == "-121 <=-122"
    bench.frame(-120, finalized=-122)
    assert bench.said() == "-120"


def test_online_the_finalized_frame_never_falls() -> None:
    bench = Bench(online=True, finalized_field=True)
    for number in (1, 2, 3):
        bench.frame(number, finalized=number - 1)
    assert bench.said() == "1 2 <=1 3 <=2"
    bench.frame(4, finalized=0)
    assert bench.said() == "4"
    bench.frame(5, finalized=4)
    assert bench.said() == "5 <=4"


def test_online_a_frame_that_did_not_come_yet_is_not_final() -> None:
    bench = Bench(online=True, finalized_field=True)
    bench.frame(1, finalized=1000)
    assert bench.said() == "1 <=1"
    bench.frame(2, finalized=1000)
    assert bench.said() == "2 <=2"
    assert bench.diagnostics == []


def test_online_a_finalized_frame_that_never_moves_does_not_keep_everything() -> None:
    bench = Bench(online=True, finalized_field=True)
    for number in range(MAX_LAG_FRAMES):
        bench.frame(number, finalized=-124)
    assert "<=" not in bench.said()
    bench.frame(MAX_LAG_FRAMES, finalized=-124)
    assert bench.said() == f"{MAX_LAG_FRAMES} <={MAX_LAG_FRAMES // 2 + 1}"
    assert bench.diagnostics == ["finality_lag"]


@pytest.mark.parametrize("online", [None, True])
def test_without_the_fields_a_frame_is_final_when_seven_newer_ones_are_closed(online: bool | None) -> None:
    """3.0 to 3.6; and online with a bookend that was declared too short for the field."""
    bench = Bench(online=online, finalized_field=False)
    for number in range(ROLLBACK_FRAMES):
        bench.frame(number)
    assert "<=" not in bench.said()
    bench.frame(7)
    assert bench.said() == "7 <=0"
    bench.frame(8)
    assert bench.said() == "8 <=1"
    bench.frame(8)  # a second sending is no newer frame
    assert bench.said() == "8r1"


def test_by_age_a_rollback_of_seven_frames_is_not_yet_final() -> None:
    bench = Bench()
    for number in range(8):
        bench.frame(number)
    bench.said()
    for number in range(1, 9):
        bench.frame(number)
    assert bench.said() == "1r1 2r1 3r1 4r1 5r1 6r1 7r1 8 <=1"
    assert bench.diagnostics == []


def test_before_3_0_a_frame_is_complete_and_final_when_the_next_begins() -> None:
    bench = Bench(bookends=False)
    bench.pres(-123)
    bench.posts(-123)
    assert bench.said() == ""
    bench.pres(-122, 0)
    assert bench.said() == "-123 <=-123"
    bench.posts(-122, 0)
    bench.assembler.finish(bench.end(), clean=True)
    assert bench.said() == "-122 <=-122"
    assert bench.diagnostics == []


def test_from_2_2_on_frame_start_begins_the_next() -> None:
    bench = Bench(bookends=False)
    bench.assembler.frame_start(start(1), bench.end())
    bench.pres(1)
    bench.assembler.frame_start(start(2), bench.end())
    assert bench.said() == "1 <=1"


def test_before_3_0_the_same_number_again_is_told_by_the_player_who_comes_again() -> None:
    bench = Bench(bookends=False)
    for _ in range(3):
        bench.pres(5)
        bench.posts(5)
    bench.pres(6)
    assert bench.said() == "5 <=5 5r1 5r2"
    assert bench.diagnostics == ["final_frame_again"] * 2


def test_at_the_end_everything_is_final() -> None:
    bench = Bench(online=True, finalized_field=True)
    for number in range(5):
        bench.frame(number, finalized=-124)
    bench.said()
    bench.assembler.finish(bench.end(), clean=True)
    assert bench.said() == "<=4"
    bench.assembler.finish(bench.end(), clean=True)
    assert bench.said() == ""


def test_an_end_that_is_not_clean_drops_what_is_open() -> None:
    bench = Bench(online=True, finalized_field=True)
    bench.frame(1, finalized=0)
    bench.pres(2)
    bench.assembler.finish(bench.end(), clean=False)
    assert bench.said() == "1 <=1"


# -- rollbacks --------------------------------------------------------------------------------------------------------


def test_revisions_count_the_sendings_of_a_number() -> None:
    bench = Bench(online=True, finalized_field=True)
    for number in (1, 2, 3, 2, 3, 4, 3, 4, 5):
        bench.frame(number, finalized=1)
    assert bench.said() == "1 <=1 2 3 2r1 3r1 4 3r2 4r1 5"


def test_a_gap_is_no_rollback() -> None:
    bench = Bench(online=True, finalized_field=True)
    for number in (1, 2, 10, 11, 3, 10, 3, 12):
        bench.frame(number, finalized=0)
    assert bench.said() == "1 2 10 11 3 10r1 3r1 12"


def test_numbers_below_the_first_one() -> None:
    bench = Bench(online=True, finalized_field=True)
    for number in (5, 4, 5, 4, 3, 6):
        bench.frame(number, finalized=-124)
    assert bench.said() == "5 4 5r1 4r1 3 6"
    bench.assembler.finish(bench.end(), clean=True)
    assert bench.said() == "<=6"


def test_numbers_out_of_order_wait_for_their_turn() -> None:
    """By age it counts how many newer numbers are closed, whatever the order they came in."""
    bench = Bench()
    for number in (10, 1, 2, 3, 4, 5, 6, 7):
        bench.frame(number)
    assert bench.said() == "10 1 2 3 4 5 6 7 <=1"


def test_a_new_sending_starts_empty() -> None:
    bench = Bench(online=True, finalized_field=True)
    for spawn_ids in ((1, 2), (3,), ()):
        bench.assembler.frame_start(start(7), bench.end())
        bench.pres(7)
        for spawn_id in spawn_ids:
            bench.assembler.item(item(7, spawn_id), bench.end())
            whispy = event(commands.WHISPY, frame=7, direction=spawn_id)
            bench.assembler.stage_event(whispy, bench.end(), commands.WHISPY.command)
        bench.bookend(7, 0)
    first, second, third = bench.entries()
    assert [i["spawnId"] for i in first["items"]] == [1, 2]
    assert [i["spawnId"] for i in second["items"]] == [3]
    assert second["stageEvents"] == [{"kind": "whispy", "frame": 7, "direction": 3}]
    assert "items" not in third
    assert "stageEvents" not in third
    assert "post" not in third["players"]["0"]


def test_a_final_frame_that_comes_again_is_odd() -> None:
    bench = Bench(online=False, finalized_field=True)
    bench.frame(1)
    bench.frame(2)
    bench.frame(1)
    assert bench.said() == "1 <=1 2 <=2 1r1"
    assert bench.diagnostics == ["final_frame_again"]


def test_the_finalized_log_keeps_the_first_of_a_final_frame() -> None:
    game = Built((3, 18, 0)).frame(1, percent=1.0).frame(2, percent=2.0).frame(1, percent=99.0).frame(3)
    logs = logs_of([game.end().closed()])
    assert finalized_percents(logs) == {1: 1.0, 2: 2.0, 3: 0.0}
    assert [m["code"] for m in logs.of_type("diagnostic")] == ["final_frame_again"]


def test_the_finalized_log_has_the_last_sending_before_the_end() -> None:
    game = Built((3, 18, 0), major_scene=ONLINE)
    game.frame(1, finalized=0, percent=1.0).frame(2, finalized=0, percent=2.0).frame(2, finalized=1, percent=22.0)
    logs = logs_of([game.end().closed()])
    assert finalized_percents(logs) == {1: 1.0, 2: 22.0}
    revisions = [msgspec.json.decode(m.entry())["revision"] for m in logs.finalized if m.frame is not None]
    assert revisions == [0, 1]


def finalized_percents(logs: Logs) -> dict[int, float]:
    entries = [msgspec.json.decode(m.entry()) for m in logs.finalized if m.frame is not None]
    return {entry["frame"]: entry["players"]["0"]["post"]["percent"] for entry in entries}


# -- incomplete frames ------------------------------------------------------------------------------------------------


def test_a_frame_without_its_bookend_ends_where_the_next_begins() -> None:
    bench = Bench(online=False, finalized_field=True)
    bench.assembler.frame_start(start(1), bench.end())
    bench.pres(1)
    bench.frame(2)
    assert bench.said() == "1 2 <=2"
    assert bench.diagnostics == ["frame_without_bookend"]


def test_the_last_frame_without_its_bookend() -> None:
    bench = Bench(online=False, finalized_field=True)
    bench.frame(1)
    bench.pres(2)
    bench.assembler.finish(bench.end(), clean=True)
    assert bench.said() == "1 <=1 2 <=2"
    assert bench.diagnostics == ["frame_without_bookend"]


def test_a_bookend_without_a_frame() -> None:
    bench = Bench(online=False, finalized_field=True)
    bench.bookend(1)
    assert bench.said() == "1 <=1"
    assert bench.diagnostics == ["empty_frame"]


def test_a_player_without_a_post_does_not_keep_the_frame() -> None:
    bench = Bench(online=False, finalized_field=True)
    bench.pres(9596)
    bench.posts(9596, 1)
    bench.bookend(9596)
    assert bench.said() == "9596 <=9596"
    assert bench.diagnostics == []


def test_a_player_without_a_pre() -> None:
    bench = Bench()
    bench.posts(1, 0)
    bench.bookend(1)
    (entry,) = bench.entries()
    assert list(entry["players"]["0"]) == ["post"]


def test_a_player_who_is_out_and_comes_back() -> None:
    bench = Bench()
    for number, players in ((1, (0, 1)), (2, (1,)), (3, (0, 1))):
        bench.pres(number, *players)
        bench.posts(number, *players)
        bench.bookend(number)
    assert [list(entry["players"]) for entry in bench.entries()] == [["0", "1"], ["1"], ["0", "1"]]


def test_followers_stand_apart() -> None:
    bench = Bench()
    for follower in (False, True):
        bench.assembler.pre_frame(pre(1, 0, follower=follower), bench.end())
    for follower in (False, True):
        bench.assembler.post_frame(post(1, 0, follower=follower, percent=float(follower)), bench.end())
    bench.bookend(1)
    bench.pres(2)
    bench.bookend(2)
    with_nana, alone = bench.entries()
    assert with_nana["players"]["0"]["post"]["percent"] == 0.0
    assert with_nana["followers"]["0"]["post"]["percent"] == 1.0
    assert with_nana["followers"]["0"]["pre"]["isFollower"] is True
    assert list(with_nana["followers"]) == ["0"]
    assert "followers" not in alone


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_offsets_are_those_of_the_event_that_made_it_certain() -> None:
    bench = Bench(online=False, finalized_field=True)
    bench.frame(1)
    assert [said.end_offset for said in bench.assembler.out] == [60, 60]


def test_the_last_frame_is_the_highest_number_as_last_sent() -> None:
    bench = Bench(online=True, finalized_field=True)
    for number in (1, 2, 3, 2, 3, 2):
        bench.frame(number, finalized=0)
    assert bench.assembler.last is not None
    assert (bench.assembler.last.number, bench.assembler.last.revision) == (3, 1)


def test_the_neutral_view_of_a_player() -> None:
    bench = Bench()
    bench.assembler.pre_frame(pre(1, 0, joystick_x=0.5, joystick_y=-1.0, physical_buttons=0x1110), bench.end())
    bench.assembler.post_frame(post(1, 0, position_x=1.5, position_y=2.5, percent=42.0), bench.end())
    bench.pres(1, 1)
    bench.posts(1, 2)
    bench.bookend(1)
    frame = bench.assembler.out[0]
    assert isinstance(frame, Frame)
    inputs, state = frame.players[0].inputs, frame.players[0].state
    assert inputs is not None
    assert (inputs.steer, inputs.pitch, inputs.buttons) == (0.5, -1.0, frozenset({"z", "a", "start"}))
    assert state is not None
    assert (state.position, state.damage, state.lives) == ((1.5, 2.5), 42.0, 4)
    assert frame.players[1].state is None
    assert frame.players[2].inputs is None


def test_more_items_than_a_game_has() -> None:
    bench = Bench()
    for spawn_id in range(MAX_THINGS + 2):
        bench.assembler.item(item(1, spawn_id), bench.end())
    bench.bookend(1)
    (entry,) = bench.entries()
    assert len(entry["items"]) == MAX_THINGS
    assert bench.diagnostics == ["crowded_frame"] * 2


def test_frames_that_never_get_their_bookend_are_not_all_kept() -> None:
    bench = Bench()
    for number in range(MAX_LAG_FRAMES + 2):
        bench.assembler.frame_start(start(number), bench.end())
    assert bench.said().endswith(f"{MAX_LAG_FRAMES} <={MAX_LAG_FRAMES // 2 + 1}")
    assert bench.diagnostics.count("finality_lag") == 1


def test_more_numbers_out_of_order_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.formats.slippi.assembler.MAX_NUMBERS_APART", 3)
    bench = Bench(online=False, finalized_field=True)
    for number in (1, 10, 20, 30, 30, 40, 30):
        bench.frame(number)
    assert bench.said() == "1 <=1 10 <=10 20 <=20 30 <=30 30 40 <=40 30r1"
    assert bench.diagnostics == ["numbers_forgotten", "final_frame_again", "final_frame_again"]


def test_a_copy_goes_on_alone() -> None:
    bench = Bench(online=True, finalized_field=True)
    bench.frame(1, finalized=0)
    bench.pres(2, 0)
    twin = bench.assembler.copy(DiagnosticLimiter())
    twin.out = []
    twin.post_frame(post(2, 0), 100)
    twin.item(item(2), 105)
    twin.bookend(bookend(7, 1), 110)
    assert [type(said) for said in twin.out] == [Diagnostic, Frame, Frame, FrameFinalized]
    assert bench.diagnostics == []
    assert bench.said() == "1"
    bench.bookend(2, 1)
    frame = bench.assembler.out[0]
    assert isinstance(frame, Frame)
    assert frame.entry.players[0].post is UNSET
    assert frame.entry.items is UNSET
    assert bench.said() == "2 <=1"
