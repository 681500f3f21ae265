"""The running director with stations that the test describes: messages, the pin, the station on air, and a restart."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, cast

import msgspec
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from slpstream.config import Config
from slpstream.model.errors import ConfigError
from slpstream.model.messages import LogMessage, timestamp
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.parts.director.directing import Directing
from slpstream.parts.director.part import PART, Director, check
from slpstream.parts.services import OnAirChoice
from slpstream.store import GameIndex
from tests.daemons.hosts import FakeIndex, host_of
from tests.stream.fakes import FakeLog, FakeStation
from tests.virtual_time import START, now

NAMES = ["a", "b", "c", "d", "e", "f", "g", "h"]
WINS = 2
LOSSES_PER_SECOND = 0.05
EVENINGS = 6
RESTARTS = 5
READ_SHARE = 0.3
"""How likely a game that is read after a restart has been read in the next second."""


class FakeOnAir:
    """The stations that were put on air."""

    has_rule = False

    def __init__(self) -> None:
        self.stations: list[str | None] = []

    async def choose_station(self, station: str | None) -> bool:
        await trio.lowlevel.checkpoint()
        self.stations.append(station)
        return True


class Venue:
    """Eight stations with games described by the test, and the director."""

    def __init__(self, index: FakeIndex, *, on_air: bool = False) -> None:
        host = host_of(Config(parts={"director": [Director(stations=NAMES, on_air=on_air)]}))
        host.index = cast(GameIndex, index)
        self.put_on_air = FakeOnAir()
        host.provide(OnAirChoice, self.put_on_air)
        host.hub.sources["odds"] = self._send_odds
        self.fakes = {name: FakeStation(name) for name in NAMES}
        for fake in self.fakes.values():
            host.hub.add(fake.channel)
            fake.channel.publish_state({"state": "idle", "reason": ""})
        self.odds: dict[str, list[float]] = {}
        self.chance: random.Random | None = None
        """Chooses odds at random, every second."""
        self._games = 0
        self.director = Directing(host, wall_clock=now)

    async def _send_odds(self, channel: Any, start: Any, send: Any) -> None:
        for number, odds in enumerate(self.odds.get(channel.station, ())):
            await send({"gameId": channel.current.game_id, "frame": 30 * number, "odds": odds})
        frame = 0
        while self.chance is not None:
            frame += 60
            if channel.current is not None:
                await send({"gameId": channel.current.game_id, "frame": frame, "odds": self.chance.random()})
            await trio.sleep(1)
        await trio.sleep_forever()

    def play(self, name: str, *stocks: int, score: tuple[int, int] = (0, 0), catching_up: bool = False) -> None:
        """Begin a game in a set to two wins with this score."""
        fake = self.fakes[name]
        self._games += 1
        game = fake.begin(FakeLog(self._games, batches=3, ended=False), catching_up=catching_up)
        fake.write(game, 1)
        players = [PlayerSummary(index=index, start_stocks=4) for index in range(2)]
        game.summary = GameSummary(versus=True, players=players)
        fake.channel.current = game
        fake.channel.publish_state({"state": "playing", "reason": "", "gameId": game.game_id})
        self.show(name, *stocks)
        sides = [{"score": points} for points in score]
        fake.channel.publish_set({"gameId": game.game_id, "state": "running", "winsNeeded": 2, "sides": sides})

    def show(self, name: str, *stocks: int) -> None:
        """Change the stocks in the running game."""
        game = self.fakes[name].channel.current
        assert game is not None
        shown = {str(index): {"post": {"stocksRemaining": left}} for index, left in enumerate(stocks)}
        body = b'"frame":%b}' % msgspec.json.encode({"frame": 1, "players": shown})
        game.note(LogMessage("frame", game.game_id, "live", 1, 0, body, 1))

    def rest(self, name: str) -> None:
        """End the running game."""
        self.fakes[name].channel.publish_state({"state": "idle", "reason": ""})

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Directing]:
        """Run the director for the duration of the block."""
        async with trio.open_nursery() as nursery:
            for fake in self.fakes.values():
                nursery.start_soon(self.director.follow, fake.channel)
            nursery.start_soon(self.director.run)
            await wait_all_tasks_blocked()
            yield self.director
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_a_day(autojump_clock: Any) -> None:
    index = FakeIndex()
    venue = Venue(index, on_air=True)
    sent: list[Mapping[str, Any]] = []

    async def send(payload: Mapping[str, Any]) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(payload)

    async with venue.open() as director, trio.open_nursery() as nursery:
        nursery.start_soon(director.send_messages, "director", venue.fakes["b"].channel, "live", send)
        venue.play("a", 4, 4)
        await trio.sleep(9)
        assert director.state().station == "a"
        assert director.state().since == timestamp(START + 8)
        venue.play("b", 1, 1, score=(1, 1))
        await trio.sleep(6)
        assert director.state().station == "a"  # held
        await trio.sleep(2)
        assert (director.state().station, director.state().reason) == ("b", "deciding game, last stocks")
        assert await director.pin("c")
        assert (director.state().station, director.state().pinned) == ("c", "c")
        await trio.sleep(60)
        assert director.state().station == "c"
        assert not await director.pin("nobody")
        assert await director.pin(None)
        assert director.state().station == "b"
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert venue.put_on_air.stations == ["a", "b", "c", "b"]
    assert [payload["chosen"] for payload in sent] == [False, True, False, True]

    # After a restart, another station is read first.
    again = Venue(index)
    async with again.open() as director:
        before = director.state()
        assert before.station == "b"
        again.play("a", 1, 1)
        again.play("b", 1, 1, score=(1, 1), catching_up=True)
        await trio.sleep(30)
        assert (director.state().station, director.state().since) == ("b", before.since)
        again.fakes["b"].channel.current.go_live()  # type: ignore[union-attr]
        await trio.sleep(30)
        assert (director.state().station, director.state().since) == ("b", before.since)


class PlayedSets:
    """Sets to two wins at a station, one after another, with stocks that are lost at random."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name, self._chance = name, chance
        self.stocks, self.score = [2, 2], [chance.randint(0, 1), chance.randint(0, 1)]
        self.pause_seconds = chance.randint(1, 20)

    @property
    def is_last_moment(self) -> bool:
        """Whether a player has the last stock of a deciding game."""
        return self.pause_seconds == 0 and self.score == [1, 1] and 1 in self.stocks

    def step(self, venue: Venue) -> None:
        """Play for a second."""
        if self.pause_seconds:
            self.pause_seconds -= 1
            if self.pause_seconds == 0:
                self.begin(venue)
            return
        if self._chance.random() > LOSSES_PER_SECOND:
            return
        loser = self._chance.randint(0, 1)
        self.stocks[loser] -= 1
        if self.stocks[loser]:
            venue.show(self.name, *self.stocks)
            return
        self.score[1 - loser] += 1
        self.score = [0, 0] if max(self.score) == WINS else self.score
        self.stocks, self.pause_seconds = [4, 4], self._chance.randint(3, 20)
        venue.rest(self.name)

    def begin(self, venue: Venue, *, catching_up: bool = False) -> None:
        first, second = self.score
        venue.play(self.name, *self.stocks, score=(first, second), catching_up=catching_up)


@pytest.mark.trio
async def test_evenings_at_eight_stations_with_restarts(autojump_clock: Any) -> None:
    """At most one change in the hold time, no last stock of a deciding game is left, and a restart changes nothing."""
    last_moments = changes = 0
    for seed in range(EVENINGS):
        chance = random.Random(seed)
        index, sets = FakeIndex(), [PlayedSets(name, chance) for name in NAMES]
        shown: str | None = None
        changed_at: datetime | None = None
        for run in range(RESTARTS + 1):
            venue = Venue(index)
            venue.chance = chance
            for each in sets:
                if each.pause_seconds == 0:
                    each.begin(venue, catching_up=True)
            async with venue.open() as director:
                assert director.state().station == shown
                for second in range(chance.randint(20, 120)):
                    for each in sets:
                        each.step(venue)
                        game = venue.fakes[each.name].channel.current
                        if run and game is not None and game.catching_up and chance.random() < READ_SHARE:
                            game.go_live()
                    await trio.sleep(1)
                    state = director.state()
                    if state.station == shown:
                        continue
                    assert state.station is not None
                    assert state.since is not None
                    at = datetime.fromisoformat(state.since)
                    assert changed_at is None or (at - changed_at).total_seconds() >= state.hold_seconds, seed
                    assert run == 0 or second >= state.hold_seconds - 1, "a restart does not change the choice"
                    left = next((each for each in sets if each.name == shown), None)
                    now = next(each for each in sets if each.name == state.station)
                    if left is not None and left.is_last_moment:
                        assert now.is_last_moment, (seed, left.name, now.name)
                    last_moments += now.is_last_moment
                    shown, changed_at = state.station, at
                    changes += 1
    assert changes > 10 * EVENINGS
    assert last_moments > EVENINGS


@pytest.mark.trio
async def test_odds(autojump_clock: Any) -> None:
    venue = Venue(FakeIndex())
    venue.odds = {"g": [0.2, 0.65], "h": [0.9, 0.9]}
    venue.play("g", 2, 2)
    venue.play("h", 2, 2)
    async with venue.open() as director:
        await trio.sleep(9)
        state = director.state()
        assert (state.station, state.reason) == ("g", "odds near even, large swing")


@pytest.mark.trio
async def test_a_damaged_state_is_left_out(autojump_clock: Any) -> None:
    index = FakeIndex()
    index.remember("director", {"station": 3})
    async with Venue(index).open() as director:
        assert director.state().station is None


@pytest.mark.parametrize("stations", [["a"], ["a", "a"], ["a", "b", "a"]])
def test_stations_are_different_and_more_than_one(stations: list[str]) -> None:
    with pytest.raises(ConfigError, match="two to eight different"):
        check(Config(parts={"director": [Director(stations=stations)]}), "slpstream.toml")


def test_nothing_runs_without_stations() -> None:
    assert not PART.wanted(Config())
