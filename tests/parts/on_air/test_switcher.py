"""The switcher: the rule with all kinds of games, the operator's choice, and both after a restart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import msgspec
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from slpstream.config import Config
from slpstream.daemon.stations import RunningStations
from slpstream.model.messages import LogMessage, timestamp
from slpstream.model.summary import GameSummary, PlayerSummary
from slpstream.parts.on_air.part import OnAir
from slpstream.parts.on_air.rule import Candidate, candidate_of, chosen
from slpstream.parts.on_air.switcher import Switcher
from slpstream.store import GameIndex
from tests.daemons.hosts import FakeIndex, host_of
from tests.stream.fakes import FakeLog, FakeStation

pytestmark = pytest.mark.trio

RULE = OnAir(choose="rule", min_seconds=20, result_seconds=8)
START = 1_700_000_000.0


class DemoStations:
    """Stations of which `demo` is temporary."""

    def is_temporary(self, station: str) -> bool:
        return station == "demo"


class Venue:
    """Stations with games described by the test, and the switcher's choice among them."""

    def __init__(self, *names: str, config: OnAir, index: FakeIndex | None = None) -> None:
        host = host_of(config_of(config))
        host.stations = cast(RunningStations, DemoStations())
        host.index = cast(GameIndex, index or FakeIndex())
        self.on_air = host.on_air
        self.hub = host.hub
        self.metrics = host.metrics
        self.fakes: dict[str, FakeStation] = {}
        self.log: list[tuple[float, str | None]] = []
        self.control = Switcher(host, wall_clock=lambda: START + trio.current_time())
        self._games = 0
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        fake = self.fakes[name] = FakeStation(name)
        self.hub.add(fake.channel)

    def play(self, name: str, *, stocks: tuple[int, int] = (4, 4), score: tuple[int, int] | None = (0, 0)) -> None:
        """Begin a game in a set with this score."""
        self._games += 1
        fake = self.fakes[name]
        game = fake.begin(FakeLog(self._games, batches=3, ended=False))
        fake.write(game, 1)
        game.summary = GameSummary(
            versus=True, players=[PlayerSummary(index=index, start_stocks=4) for index in range(2)]
        )
        fake.channel.current = game
        fake.channel.publish_state({"state": "playing", "reason": "", "gameId": game.game_id})
        self.stocks(name, *stocks)
        if score is not None:
            sides = [{"score": points} for points in score]
            fake.channel.publish_set({"gameId": game.game_id, "state": "running", "winsNeeded": 2, "sides": sides})

    def stocks(self, name: str, *stocks: int) -> None:
        """Publish a frame of the game with these stocks."""
        game = self.fakes[name].channel.current
        assert game is not None
        players = {str(index): {"post": {"stocksRemaining": left}} for index, left in enumerate(stocks)}
        body = b'"frame":%b}' % msgspec.json.encode({"frame": 1, "players": players})
        game.note(LogMessage("frame", game.game_id, "live", 1, 0, body, 1))

    def end(self, name: str) -> None:
        """End the game."""
        channel = self.fakes[name].channel
        game = channel.current
        assert game is not None
        game.note(LogMessage("game_end", game.game_id, "live", 2, 0, b"", None))
        channel.publish_state({"state": "idle", "reason": ""})

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Venue]:
        """Run the switcher for the duration of the block."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.control.run)
            nursery.start_soon(self._watch)
            await wait_all_tasks_blocked()
            yield self
            nursery.cancel_scope.cancel()

    @property
    def switches(self) -> dict[str, int]:
        """The numbers of counted switches."""
        counter = self.metrics.counter
        return {by: int(counter("slpstream_on_air_switches_total", by)._value.get()) for by in ("operator", "rule")}

    async def _watch(self) -> None:
        station = None
        while True:
            station = await self.on_air.other_than(station)
            self.log.append((trio.current_time(), station))


def config_of(section: OnAir) -> Config:
    return Config(parts={"on_air": [section]})


async def test_game_is_described_by_its_set_and_its_newest_frame() -> None:
    venue = Venue("main", config=RULE)
    channel = venue.fakes["main"].channel
    assert candidate_of(channel) is None
    venue.play("main", score=(1, 0), stocks=(2, 4))
    assert candidate_of(channel) == Candidate("main")
    venue.stocks("main", 1, 2)
    assert candidate_of(channel) == Candidate("main", last_stock=True)
    venue.play("main", score=(1, 1))
    assert candidate_of(channel) == Candidate("main", deciding=True)
    channel.publish_set({"gameId": "another", "state": "running", "winsNeeded": 2, "sides": [{"score": 1}] * 2})
    assert candidate_of(channel) == Candidate("main"), "the set is that of another game"
    venue.end("main")
    assert candidate_of(channel) is None


async def test_rule_follows_an_afternoon(autojump_clock: MockClock) -> None:
    venue = Venue("a", "b", "c", "demo", config=RULE)
    async with venue.open():
        await trio.sleep(30)
        assert venue.log == []
        venue.play("demo", stocks=(1, 1))
        await trio.sleep(30)
        assert venue.log == [], "a demo is no game"
        venue.play("a")
        await trio.sleep(5)
        venue.play("b", stocks=(1, 1))
        await trio.sleep(5)
        assert venue.on_air.station_id == "a", "not after 5 seconds already"
        await trio.sleep(20)
        assert venue.on_air.station_id == "b"
        venue.play("c", score=(1, 1))
        await trio.sleep(25)
        assert venue.on_air.station_id == "c"
        venue.end("c")
        await trio.sleep(5)
        assert venue.on_air.station_id == "c", "its result is still shown"
        await trio.sleep(10)
        assert venue.on_air.station_id == "b"
        for name in "ab":
            venue.end(name)
        await trio.sleep(60)
        assert venue.on_air.station_id == "b", "with no game, the station stays"
        venue.play("b")
        venue.play("a")
        await trio.sleep(2)
        assert venue.on_air.station_id in ("a", "b")
    assert [station for _, station in venue.log[:4]] == ["a", "b", "c", "b"]
    assert venue.switches["operator"] == 0


@pytest.mark.parametrize("ended", [False, True], ids=["playing", "result"])
async def test_station_that_is_removed_leaves_the_air_at_once(autojump_clock: MockClock, ended: bool) -> None:
    venue = Venue("a", "b", "c", config=RULE)
    async with venue.open():
        venue.play("a")
        await trio.sleep(30)
        venue.play("b")
        await trio.sleep(30)
        if ended:
            venue.end("a")
            await trio.sleep(1)
        assert venue.on_air.station_id == "a"
        venue.hub.remove(venue.fakes["a"].channel)
        await wait_all_tasks_blocked()
        assert venue.on_air.station_id == "b"
        venue.end("b")
        venue.hub.remove(venue.fakes["b"].channel)
        await wait_all_tasks_blocked()
        venue.play("c")
        await trio.sleep(2)
    assert [station for _, station in venue.log] == ["a", "b", None, "c"]


async def test_operator_overrules_the_rule_until_the_choice_is_withdrawn_or_ends(autojump_clock: MockClock) -> None:
    venue = Venue("a", "b", config=RULE)
    async with venue.open():
        venue.play("a", score=(1, 1))
        await trio.sleep(2)
        assert await venue.control.choose_station("b")
        assert (venue.on_air.station_id, venue.on_air.chosen_by) == ("b", "operator")
        await trio.sleep(3600)
        assert venue.on_air.station_id == "b"
        assert await venue.control.choose_station(None)
        assert (venue.on_air.station_id, venue.on_air.chosen_by) == ("a", "rule")
        assert not await venue.control.choose_station("nowhere")
    assert venue.switches == {"operator": 1, "rule": 2}
    venue = Venue("a", "b", config=msgspec.structs.replace(RULE, operator_seconds=300))
    async with venue.open():
        venue.play("a")
        began = trio.current_time()
        await venue.control.choose_station("b")
        assert venue.control.describe().until == timestamp(START + began + 300)
        await trio.sleep(299)
        assert venue.on_air.station_id == "b"
        await trio.sleep(30)
        assert (venue.on_air.station_id, venue.on_air.chosen_by) == ("a", "rule")
        assert venue.control.describe().until is None


async def test_without_the_rule_only_the_operator_chooses(autojump_clock: MockClock) -> None:
    venue = Venue("a", "b", config=OnAir())
    async with venue.open():
        venue.play("a", score=(1, 1))
        await trio.sleep(60)
        assert venue.on_air.station_id is None
        await venue.control.choose_station("b")
        await trio.sleep(60)
        await venue.control.choose_station(None)
        await wait_all_tasks_blocked()
        assert [station for _, station in venue.log] == ["b", None]
        venue.control.configure(config_of(RULE))
        await wait_all_tasks_blocked()
        assert venue.on_air.station_id == "a", "another configuration applies at once"


async def test_choice_survives_a_restart_and_waits_for_its_station() -> None:
    index = FakeIndex()
    async with Venue("a", "b", config=OnAir(), index=index).open() as venue:
        await venue.control.choose_station("b")
    venue = Venue("a", config=OnAir(), index=index)
    async with venue.open():
        assert venue.log == []
        venue.add("b")
        await wait_all_tasks_blocked()
        assert venue.on_air.chosen_by == "operator"
        venue.hub.remove(venue.fakes["b"].channel)
        await wait_all_tasks_blocked()
    assert [station for _, station in venue.log] == ["b", None]


async def test_restart_does_not_make_the_rule_leave_a_game(autojump_clock: MockClock) -> None:
    index = FakeIndex()
    venue = Venue("a", "b", config=RULE, index=index)
    async with venue.open():
        venue.play("b")
        await trio.sleep(60)
        assert venue.on_air.station_id == "b"
    venue = Venue("a", "b", config=RULE, index=index)
    venue.play("a")
    venue.play("b")
    async with venue.open():
        await trio.sleep(60)
    assert [station for _, station in venue.log] == ["b"]


async def test_unreadable_choice_is_ignored() -> None:
    index = FakeIndex()
    index.kept["on_air"] = b'{"choice": 5}'
    async with Venue("a", config=OnAir(), index=index).open() as venue:
        assert venue.on_air.station_id is None
        assert await venue.control.choose_station("a")


async def test_rule_prefers_deciding_games_then_last_stocks_then_the_longest_unseen() -> None:
    seen = {"a": 100.0, "b": 50.0}
    plain = [Candidate("a"), Candidate("b"), Candidate("c")]
    assert chosen(plain, None, seen) == "c"
    assert chosen(plain[:2], None, seen) == "b"
    last_stock, deciding = Candidate("d", last_stock=True), Candidate("e", deciding=True)
    assert chosen([*plain, last_stock], None, seen) == "d"
    assert chosen([*plain, last_stock, deciding], None, seen) == "e"
    assert chosen([deciding, Candidate("f", deciding=True, last_stock=True)], None, seen) == "f"


async def test_rule_leaves_a_game_only_for_a_more_important_one() -> None:
    assert chosen([Candidate("a"), Candidate("b")], "a", {"a": 9.0}) == "a"
    assert chosen([Candidate("a"), Candidate("b", last_stock=True)], "a", {}) == "b"
    assert chosen([Candidate("a", deciding=True), Candidate("b", last_stock=True)], "a", {}) == "a"
    assert chosen([Candidate("b")], "a", {}) == "b"
    assert chosen([], "a", {}) == "a"
