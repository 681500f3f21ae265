"""The rules for the choice of a station's current game."""

from __future__ import annotations

from typing import Any

import pytest

from slpstream.daemon.station.choice import Candidate, Enter, GameChoice, Growth, Turn
from slpstream.model.messages import LogMessage
from slpstream.stream.game import Game, Role

RULES = GameChoice(stalled_seconds=5.0, idle_seconds=60.0, played_seconds=0.25)


def game_in_progress(number: int) -> Game:
    """The n-th game that a station saw begin."""
    reader: Any = None
    game = Game(f"game{number}", reader, ring_bytes=1, order=(1, number, ""))
    game.start = LogMessage("game_start", game.game_id, "live", 1, 0, b"", None)
    return game


def played(number: int, *, opened_at: float = 0.0, grown_at: float, arrived_whole: bool = False) -> Candidate:
    """A game whose file was seen to grow."""
    growth = Growth(opened_at)
    growth.note_end()
    growth.note_growth(grown_at)
    return Candidate(game_in_progress(number), growth, arrived_whole)


def copied_in(number: int, *, at: float) -> Candidate:
    """A game whose file was not seen to grow."""
    growth = Growth(at)
    growth.note_growth(at)
    return Candidate(game_in_progress(number), growth, arrived_whole=True)


def test_growth_counts_only_after_the_file_was_read_to_its_end() -> None:
    growth = Growth(1.0)
    growth.note_growth(2.0)
    assert (growth.opened_at, growth.grown_at, growth.seen) == (1.0, 2.0, False)
    growth.note_end()
    growth.note_growth(3.0)
    assert (growth.grown_at, growth.seen) == (3.0, True)


def test_first_game_is_the_current_one() -> None:
    assert RULES.role_of_new(None, None, 10.0, arrived_whole=False, written_whole=False) is Role.PLAYED
    assert RULES.role_of_new(None, None, 10.0, arrived_whole=True, written_whole=False) is Role.RECORDED
    assert RULES.role_of_new(None, None, 10.0, arrived_whole=False, written_whole=True) is Role.RECORDED


def test_copied_file_does_not_displace_a_played_game() -> None:
    current = played(1, grown_at=10.0)
    role = RULES.role_of_new(current.game, current, 1000.0, arrived_whole=True, written_whole=False)
    assert role is Role.SECONDARY


def test_any_file_displaces_a_recorded_game() -> None:
    current = copied_in(1, at=10.0)
    current.game.role = Role.RECORDED
    role = RULES.role_of_new(current.game, current, 10.0, arrived_whole=True, written_whole=False)
    assert role is Role.RECORDED


def test_file_written_in_one_go_displaces_an_idle_game() -> None:
    current = played(1, grown_at=10.0)
    role = RULES.role_of_new(current.game, current, 10.0, arrived_whole=True, written_whole=True)
    assert role is Role.SECONDARY
    role = RULES.role_of_new(current.game, current, 70.1, arrived_whole=True, written_whole=True)
    assert role is Role.RECORDED


@pytest.mark.parametrize(("now", "expected"), [(70.0, Role.SECONDARY), (70.1, Role.PLAYED)])
def test_game_that_begins_displaces_one_that_is_idle(now: float, expected: Role) -> None:
    current = played(1, grown_at=10.0)
    role = RULES.role_of_new(current.game, current, now, arrived_whole=False, written_whole=False)
    assert role is expected
    role = RULES.role_of_new(current.game, None, now, arrived_whole=False, written_whole=False)
    assert role is Role.PLAYED, "its file is not followed"


def test_growing_game_replaces_one_that_is_not_followed() -> None:
    grown = played(1, grown_at=10.0)
    assert RULES.on_growth(grown, None, 10.0) == Turn(grown.game)


def test_newer_game_waits_until_its_file_has_been_open_for_a_moment() -> None:
    current, newer = played(1, grown_at=10.0), played(2, opened_at=9.9, grown_at=10.0)
    assert RULES.on_growth(newer, current, 10.0) is None
    assert RULES.on_growth(newer, current, 10.2) == Turn(newer.game)


def test_older_game_replaces_one_that_is_stalled() -> None:
    current, older = played(2, grown_at=10.0), played(1, grown_at=15.0)
    assert RULES.on_growth(older, current, 15.0) is None
    older.growth.note_growth(15.1)
    assert RULES.on_growth(older, current, 15.1) == Turn(older.game)


@pytest.mark.parametrize("reason", ["arrived whole", "catching up", "ended", "not seen to grow"])
def test_game_that_is_not_played_replaces_nothing(reason: str) -> None:
    grown = played(1, grown_at=10.0, arrived_whole=reason == "arrived whole")
    if reason == "catching up":
        grown.game.catch_up()
    grown.game.ended = reason == "ended"
    grown.growth.seen = reason != "not seen to grow"
    assert RULES.on_growth(grown, None, 10.0) is None


def test_station_is_idle_after_the_end_of_its_only_game() -> None:
    ended = played(1, grown_at=10.0)
    candidates = [ended, copied_in(2, at=10.0), played(3, grown_at=10.0, arrived_whole=True), played(4, grown_at=4.9)]
    assert RULES.on_end(ended.game, candidates, 10.0, "game ended") == Enter("idle", "game ended")


def test_newest_played_game_follows_one_that_ended() -> None:
    ended, first, second = played(3, grown_at=10.0), played(1, grown_at=10.0), played(2, grown_at=5.0)
    assert RULES.on_end(ended.game, [ended, second, first], 10.0, "game ended") == Turn(second.game)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (15.0, None),
        (15.1, Enter("stalled", "the file does not grow")),
        (70.0, Enter("stalled", "the file does not grow")),
        (70.1, Enter("idle", "the file has not grown for long")),
    ],
)
def test_silent_game_is_stalled_and_later_idle(now: float, expected: Enter | None) -> None:
    current = played(1, grown_at=10.0)
    assert RULES.on_silence(current, [current], now, "playing") == expected


@pytest.mark.parametrize("state", ["stalled", "idle", "offline"])
def test_only_a_playing_station_becomes_stalled(state: Any) -> None:
    current = played(1, grown_at=10.0)
    assert RULES.on_silence(current, [current], 20.0, state) is None


def test_growing_game_replaces_a_silent_one() -> None:
    current, other = played(2, grown_at=10.0), played(1, grown_at=15.0)
    assert RULES.on_silence(current, [current, other], 15.0, "playing") is None
    assert RULES.on_silence(current, [current, other], 15.1, "playing") == Turn(other.game)
