"""The decision over eight simulated stations, with and without restarts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from slpstream.parts.director.decision import Choice, Tile, decided, reason

HOLD = 8.0
STEP = 0.5
FOUR = (4, 4)
DECIDING = 2


def tile(name: str, stocks: tuple[int, ...] = FOUR, set_points: int = 0, odds: float | None = None) -> Tile:
    return Tile(name, playing=True, stocks=stocks, set_points=set_points, odds=odds)


class SimulatedStation:
    """Sets to three wins, one after the other, with pauses, lost stocks and odds at random."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name, self._chance = name, chance
        self._stocks, self._score, self._odds = [4, 4], [0, 0], 0.5
        self._pause = chance.randint(0, 60)

    def step(self) -> Tile:
        """Return the tile half a second later."""
        chance = self._chance
        if self._pause:
            self._pause -= 1
            return Tile(self.name)
        before = self._odds
        self._odds = min(0.99, max(0.01, before + chance.gauss(0, 0.08)))
        if chance.random() < 0.04:
            loser = chance.randint(0, 1)
            self._stocks[loser] -= 1
            if self._stocks[loser] == 0:
                self._score[1 - loser] += 1
                self._score = [0, 0] if max(self._score) == 3 else self._score
                self._stocks, self._odds, self._pause = [4, 4], 0.5, chance.randint(4, 60)
                return Tile(self.name)
        known = chance.random() > 0.005
        return Tile(
            self.name, playing=known, known=known, stocks=tuple(self._stocks), set_points=self._score.count(2),
            odds=self._odds, swing=abs(self._odds - before),
        )  # fmt: skip


def evening(seed: int) -> Iterator[tuple[float, list[Tile]]]:
    """Twenty minutes at eight stations."""
    chance = random.Random(seed)
    stations = [SimulatedStation(f"setup {number}", chance) for number in range(8)]
    for number in range(int(20 * 60 / STEP)):
        yield number * STEP, [station.step() for station in stations]


def of(station: str | None, tiles: Sequence[Tile]) -> Tile:
    return next((tile for tile in tiles if tile.station == station), Tile(""))


@pytest.mark.parametrize("restarts", [False, True])
def test_evenings(restarts: bool) -> None:
    changes = 0
    for seed in range(12):
        chance = random.Random(seed)
        choice, changed_at = Choice(), -HOLD
        for now, tiles in evening(seed):
            if restarts and chance.random() < 0.01:
                choice = Choice(choice.station, now + HOLD)  # all that a restart keeps
            before, choice = choice, decided(tiles, choice, None, now, HOLD)
            if before.station == choice.station:
                continue
            left, shown = of(before.station, tiles), of(choice.station, tiles)
            assert now - changed_at >= HOLD
            assert shown.playing
            assert left.known
            assert shown.tension > left.tension
            if left.playing and left.set_points == DECIDING and 1 in left.stocks:
                assert shown.set_points == DECIDING
                assert 1 in shown.stocks
            changed_at = now
            changes += 1
    assert changes > 12 * 20


def test_the_tensest_game_is_large() -> None:
    for expected, others in [
        (tile("a", (4, 1)), [tile("b", (4, 2)), tile("c", (2, 2), 1)]),
        (tile("a", (1, 1), 2), [tile("b", (1, 1), 1), tile("c", (4, 4), 2)]),
        (tile("a", (2, 2), 0, 0.5), [tile("b", (2, 2), 0, 0.95), tile("c", (4, 4), 0, 0.5)]),
        (tile("a")._replace(odds=0.5, swing=0.4, stocks=(2, 2)), [tile("b", (2, 2), 0, 0.5)]),
    ]:
        assert decided([*others, expected], Choice(), None, 0, HOLD).station == "a"


def test_near_ties_do_not_change_the_choice() -> None:
    choice = Choice("a", was_playing=True)
    for now in range(200):
        odds = 0.5 + 0.2 * (now % 2)
        tiles = [tile("a", (2, 2), 0, odds), tile("b", (2, 2), 0, 1.2 - odds)]
        choice = decided(tiles, choice, None, now, HOLD)
        assert choice.station == "a"


def test_the_result_is_shown_for_the_hold_time() -> None:
    over, other = Tile("a"), tile("b", (1, 1), 2)
    choice = Choice("a", was_playing=True)
    choice = decided([over, other], choice, None, 100, HOLD)
    assert decided([over, other], choice, None, 107.9, HOLD).station == "a"
    assert decided([over, other], choice, None, 108, HOLD).station == "b"


def test_without_games_the_choice_stays() -> None:
    assert decided([Tile("a"), Tile("b")], Choice("b"), None, 100, HOLD).station == "b"
    assert decided([Tile("a"), Tile("b")], Choice(), None, 100, HOLD).station is None


def test_a_station_that_is_gone_is_left() -> None:
    assert decided([tile("b")], Choice("a"), None, 100, HOLD).station == "b"


def test_a_pin_wins_until_it_is_released() -> None:
    tiles = [tile("a"), tile("b", (1, 1), 2)]
    choice = decided(tiles, Choice("b", 50), "a", 45, HOLD)
    assert choice.station == "a"
    for now in range(46, 100):
        choice = decided(tiles, choice, "a", now, HOLD)
        assert choice.station == "a"
    assert decided(tiles, choice, None, 100, HOLD).station == "b"


def test_reasons() -> None:
    assert reason(tile("a", (1, 1), 2, 0.55), pinned=False) == "deciding game, last stocks, odds near even"
    assert reason(tile("a", (4, 1), 1), pinned=False) == "set point, last stock"
    assert reason(tile("a"), pinned=False) == "a game is being played"
    assert reason(Tile("a"), pinned=False) == "its last game is over"
    assert reason(None, pinned=False) == "no game has been played yet"
    assert reason(tile("a"), pinned=True) == "pinned by the operator"
