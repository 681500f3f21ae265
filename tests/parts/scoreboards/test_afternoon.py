"""The score is right in the end although TournamentStreamHelper and the daemon are restarted again and again."""

from __future__ import annotations

import random

import pytest
import trio
from trio.testing import MockClock

from slpstream.formats.slippi.names import characters
from slpstream.parts.scoreboards.tournament_stream_helper import CHECK_SECONDS
from slpstream.sets import PlayedGame
from tests.parts.scoreboards.desk import desk
from tests.parts.scoreboards.helper_double import VERSIONS, HelperDouble, Version
from tests.sets.played_sets import Station, game, player

SETTLED = 10 * CHECK_SECONDS
PEOPLE = ("Ann", "Bob", "Carol", "Dave", "Eve", "Frank")


class Afternoon:
    """Games of a station, with accidents."""

    def __init__(self, seed: int, version: Version) -> None:
        self.random = random.Random(seed)
        self.double = HelperDouble(version)
        self.station = Station()
        self.numbers = 0
        self.sets = 0
        self.pair = ["Ann", "Bob"]
        self.station.play(self._game(None))

    def _game(self, winner: int | None) -> PlayedGame:
        picks = [(self.random.randrange(26), self.random.randrange(4)) for _ in self.pair]
        players = [player(port, name, *pick) for port, (name, pick) in enumerate(zip(self.pair, picks, strict=True))]
        self.characters = {
            name: (characters()[id].name, colour) for name, (id, colour) in zip(self.pair, picks, strict=True)
        }
        winners = None if winner is None else [winner]
        return game(self.numbers, *players, winners=winners, match=str(self.sets))

    def step(self) -> bool:
        """Perform a random action. Return whether the daemon is restarted."""
        match self.random.choice(("game", "game", "game", "score", "sides", "restart", "away", "swap", "daemon")):
            case "game":
                self.station.play(self._game(self.random.randrange(2)))
                self.numbers += 1
                if self.station.payload["state"] == "over":
                    self.sets += 1
                    self.pair = self.random.sample(PEOPLE, 2)
                self.station.play(self._game(None))
            case "score":
                self.station.correct(score={str(self.random.randrange(2)): self.random.randrange(3)})
            case "sides":
                self.station.correct(swapped=not self.station.payload.get("swapped", False))
            case "restart":
                self.double.restart()
            case "away":
                self.double.away = not self.double.away
                if self.double.away:
                    self.double.restart()
            case "swap":
                self.double.swap_teams()
            case "daemon":
                return True
        return False

    def check(self) -> None:
        """Check that each name is shown once, with the score and the character of that player."""
        payload = self.station.payload
        expected = {side["name"]: side["score"] for side in payload["sides"]}
        shown = {names[0]: score for names, score in zip(self.double.names, self.double.score, strict=True)}
        assert shown == expected
        of_players = {names[0]: of[0] for names, of in zip(self.double.names, self.double.characters, strict=True)}
        assert of_players == self.characters


@pytest.mark.trio
@pytest.mark.parametrize("version", VERSIONS)
async def test_score_is_correct_in_the_end(version: Version, clock: MockClock) -> None:
    for seed in range(10):
        afternoon = Afternoon(seed, version)
        for _ in range(3):
            async with desk(afternoon.double) as here:
                for _ in range(30):
                    here.followed.set_changed("main", afternoon.station.payload)
                    await trio.sleep(afternoon.random.choice((0.05, 1.0, 5.0, 20.0)))
                    if afternoon.step():
                        break
                afternoon.double.away = False
                here.followed.set_changed("main", afternoon.station.payload)
                await trio.sleep(SETTLED)
            afternoon.check()
