"""The skew of a console's clock, from the start times in its games and their arrivals."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from slpstream.model.clock_skew import MAX_GAMES, clock_skew, skew_of_set
from slpstream.model.summary import GameSummary, IndexedGame

_NOON_MS = 1_700_000_000_000


def _game(arrived_s: float | None, said_s: float | None, *, number: int = 0) -> IndexedGame:
    """A game with times in seconds after noon."""
    arrived_ms = None if arrived_s is None else _NOON_MS + round(1000 * arrived_s)
    return IndexedGame(
        game_id=f"{number:032x}",
        summary=GameSummary(),
        standings={},
        listed_at_ms=arrived_ms or _NOON_MS,
        arrived_at_ms=arrived_ms,
        said_at_ms=None if said_s is None else _NOON_MS + round(1000 * said_s),
        duration_seconds=180.0,
    )


def _said_ahead(*skews: float) -> list[IndexedGame]:
    """Games five minutes apart, each with how far the console's clock was ahead, in seconds.

    A game that was joined in the middle seems to be less far ahead.
    """
    return [_game(300.0 * n, 300.0 * n + skew, number=n) for n, skew in enumerate(skews)]


@pytest.mark.parametrize(
    ("skews", "seconds", "games", "sure"),
    [
        *(([skew] * 5, skew, 5, True) for skew in (37 * 60, -37 * 60, -5 * 3600, 0, 86_400 * 900)),
        pytest.param([2220], 2220, 1, False, id="one game"),
        pytest.param([2220, 2070, 2220, 2220, 2160, 2220, 2020], 2220, 7, True, id="three joined in the middle"),
        pytest.param([0, 1000, 4000, 9000, 16_000], 4000, 5, False, id="games that disagree"),
        pytest.param([9999] * 50 + [1] * MAX_GAMES, 1, MAX_GAMES, True, id="clock set long ago"),
        *(([2220] * 8 + [3] * after, 3, after, True) for after in (2, 3, 7)),
        pytest.param([2220] * 8 + [3], 2220, 9, True, id="one game does not show that the clock was set"),
        pytest.param([2220] * 6 + [-300] * 4 + [1, 0], 0.5, 2, True, id="clock set twice"),
        pytest.param([2220] * 8 + [3, 3, 3, -140], 3, 3, True, id="joined in the middle after the clock was set"),
        pytest.param([2220] * 8 + [3, 3, -140, -90], 2220, 12, True, id="too few games since it was set"),
        pytest.param([0, 0, *range(1000, 1500, 100)], 1100, 7, False, id="drifting clock"),
    ],
)
def test_skew_is_the_consoles_clock_minus_ours(skews: Sequence[float], seconds: float, games: int, sure: bool) -> None:
    played = _said_ahead(*skews)
    skew = clock_skew(played)
    assert skew is not None
    assert (skew.seconds, skew.games, skew.sure) == (seconds, games, sure)
    assert skew.corrected_ms(_NOON_MS) == _NOON_MS - 1000 * seconds
    assert clock_skew(random.Random(4).sample(played, len(played))) == skew, "independent of the order of the games"


def test_skew_is_unknown_without_an_observed_arrival() -> None:
    assert clock_skew([]) is None
    assert clock_skew([_game(None, 2220.0)]) is None
    assert clock_skew([_game(0.0, None)]) is None


def test_slowly_copied_old_games_are_not_arrivals() -> None:
    copies = [_game(20.0 * n, 300.0 * n - 90_000, number=n) for n in range(8)]
    played = [_game(1000 + 300.0 * n, 1000 + 300.0 * n + 2220, number=20 + n) for n in range(3)]
    skew = clock_skew([*copies, *played])
    assert skew is not None
    # No other copy overtakes the last one.
    assert (skew.seconds, skew.games) == (2220, 4)


@pytest.mark.parametrize(
    ("skews", "own", "seconds", "games"),
    [
        pytest.param([2220] * 5 + [0] * 20, slice(2, 5), 2220, 3, id="its own games"),
        pytest.param([2220] * 4 + [2080] + [0] * 20, slice(4, 5), 2220, 5, id="one game: the station's until then"),
        pytest.param([2220] * 4 + [2080] + [0] * 20, slice(3, 5), 2220, 5, id="one of two joined in the middle"),
    ],
)
def test_set_has_the_skew_of_its_time(skews: Sequence[float], own: slice, seconds: float, games: int) -> None:
    played = _said_ahead(*skews)
    skew = skew_of_set(played[own], played)
    assert skew is not None
    assert (skew.seconds, skew.games) == (seconds, games)


def test_set_older_than_the_games_of_the_station() -> None:
    older, *newer = _said_ahead(2220, *[0] * 20)
    skew = skew_of_set([older], newer)
    assert skew is not None
    assert skew.seconds == 2220, "it is older than all known games"
    copied = [_game(None, 100.0 * n, number=90 + n) for n in range(3)]
    skew = skew_of_set(copied, [*copied, *_said_ahead(*[2220] * 5)])
    assert skew is not None
    assert skew.seconds == 2220, "it was copied in"
    assert skew_of_set(copied, copied) is None
