from __future__ import annotations

import random

import pytest

from slpstream.model.summary import GameSummary, IndexedGame
from slpstream.tournament.clock_skew import MAX_GAMES, clock_skew, skew_of_set

_NOON_MS = 1_700_000_000_000


def _game(
    arrived_s: float | None, said_s: float | None, *, lasts_seconds: float | None = 180.0, number: int = 0
) -> IndexedGame:
    """A game with times in seconds after noon."""
    arrived_ms = None if arrived_s is None else _NOON_MS + round(1000 * arrived_s)
    return IndexedGame(
        game_id=f"{number:032x}",
        summary=GameSummary(),
        standings={},
        listed_at_ms=arrived_ms or _NOON_MS,
        arrived_at_ms=arrived_ms,
        said_at_ms=None if said_s is None else _NOON_MS + round(1000 * said_s),
        duration_seconds=lasts_seconds,
    )


def _played(skew_seconds: float, games: int, *, late: dict[int, float] | None = None) -> list[IndexedGame]:
    """Games five minutes apart; those in `late` were joined so many seconds after their beginning."""
    late = late or {}
    return [_game(300 * n + late.get(n, 1.0), 300 * n + skew_seconds, number=n) for n in range(games)]


@pytest.mark.parametrize("skew_seconds", [37 * 60, -37 * 60, -5 * 3600, 0, 86_400 * 900])
def test_skew_is_the_consoles_clock_minus_ours(skew_seconds: float) -> None:
    skew = clock_skew(_played(skew_seconds, 5))
    assert skew is not None
    assert skew.seconds == pytest.approx(skew_seconds - 1)
    assert (skew.games, skew.sure, skew.spread_seconds) == (5, True, 0)
    assert skew.corrected_ms(_NOON_MS) == _NOON_MS - 1000 * (skew_seconds - 1)


def test_games_joined_in_the_middle_do_not_move_the_median() -> None:
    skew = clock_skew(_played(2220, 7, late={1: 150.0, 4: 60.0, 6: 200.0}))
    assert skew is not None
    assert skew.seconds == pytest.approx(2219)
    assert skew.sure


def test_order_of_the_games_makes_no_difference() -> None:
    games = _played(2220, 7, late={1: 150.0})
    shuffled = random.Random(4).sample(games, len(games))
    assert clock_skew(shuffled) == clock_skew(games)


def test_unknown_without_a_game_that_was_seen_to_arrive() -> None:
    assert clock_skew([]) is None
    assert clock_skew([_game(None, 2220.0)]) is None
    assert clock_skew([_game(0.0, None)]) is None


def test_one_game_is_a_skew_but_not_a_sure_one() -> None:
    skew = clock_skew(_played(2220, 1))
    assert skew is not None
    assert (skew.games, skew.spread_seconds, skew.sure) == (1, None, False)


def test_games_that_disagree_are_not_sure() -> None:
    skew = clock_skew([_game(300.0 * n, 300.0 * n + 1000 * n * n, number=n) for n in range(5)])
    assert skew is not None
    assert not skew.sure


def test_copies_of_old_games_that_trickle_in_are_no_arrivals() -> None:
    copies = [_game(20.0 * n, 300.0 * n - 90_000, number=n) for n in range(8)]
    played = [_game(1000 + 300.0 * n, 1000 + 300.0 * n + 2220, number=20 + n) for n in range(3)]
    skew = clock_skew([*copies, *played])
    assert skew is not None
    # The last copy is the one that nothing overtakes.
    assert (skew.seconds, skew.games) == (2220, 4)


def test_newest_games_decide_after_the_clock_was_set() -> None:
    before = [_game(300.0 * n, 300.0 * n + 9999, number=n) for n in range(50)]
    after = [_game(300.0 * n, 300.0 * n + 1, number=n) for n in range(50, 50 + MAX_GAMES)]
    skew = clock_skew([*before, *after])
    assert skew is not None
    assert (skew.seconds, skew.games) == (1, MAX_GAMES)


def _said_ahead(*skews: float) -> list[IndexedGame]:
    """Games five minutes apart, each with how far the console's clock was ahead, in seconds."""
    return [_game(300.0 * n, 300.0 * n + skew, number=n) for n, skew in enumerate(skews)]


@pytest.mark.parametrize("after", [2, 3, 7])
def test_two_games_decide_after_the_clock_was_set(after: int) -> None:
    skew = clock_skew(_said_ahead(*[2220] * 8, *[3] * after))
    assert skew is not None
    assert (skew.seconds, skew.games, skew.spread_seconds, skew.sure) == (3, after, 0, True)


def test_one_game_does_not_show_that_the_clock_was_set() -> None:
    skew = clock_skew(_said_ahead(*[2220] * 8, 3))
    assert skew is not None
    assert skew.seconds == 2220


def test_clock_that_was_set_twice() -> None:
    skew = clock_skew(_said_ahead(*[2220] * 6, *[-300] * 4, 1, 0))
    assert skew is not None
    assert skew.seconds == 0.5


def test_game_joined_in_the_middle_after_the_clock_was_set() -> None:
    skew = clock_skew(_said_ahead(*[2220] * 8, 3, 3, 3, -140))
    assert skew is not None
    assert skew.seconds == 3
    skew = clock_skew(_said_ahead(*[2220] * 8, 3, 3, -140, -90))
    assert skew is not None
    assert skew.seconds == 2220


def test_drifting_clock_is_not_taken_for_one_that_was_set() -> None:
    drifting = _said_ahead(*range(0, 750, 50))
    assert clock_skew(drifting) == clock_skew(drifting[::-1])
    skew = clock_skew(_said_ahead(0, 0, *range(1000, 1500, 100)))
    assert skew is not None
    assert (skew.games, skew.sure) == (7, False)


def test_set_has_the_skew_of_its_own_games() -> None:
    played = _said_ahead(*[2220] * 5, *[0] * 20)
    skew = skew_of_set(played[2:5], played)
    assert skew is not None
    assert (skew.seconds, skew.games) == (2220, 3)


@pytest.mark.parametrize("own", [1, 2], ids=["one game", "one of two joined in the middle"])
def test_set_of_few_games_has_the_skew_of_the_station_until_then(own: int) -> None:
    played = _said_ahead(*[2220] * 4, 2080, *[0] * 20)
    skew = skew_of_set(played[5 - own : 5], played)
    assert skew is not None
    assert (skew.seconds, skew.games) == (2220, 5)


def test_set_that_is_older_than_all_known_games_has_only_its_own() -> None:
    played = _said_ahead(2220, *[0] * 20)
    skew = skew_of_set(played[:1], played[1:])
    assert skew is not None
    assert skew.seconds == 2220


def test_set_that_was_copied_in_has_the_skew_of_the_station() -> None:
    copied = [_game(None, 100.0 * n, number=90 + n) for n in range(3)]
    skew = skew_of_set(copied, [*copied, *_played(2220, 5)])
    assert skew is not None
    assert skew.seconds == 2219
    assert skew_of_set(copied, copied) is None
