"""A station that has dropped its oldest games still delivers them on request, each line once, in order."""

from __future__ import annotations

import random

import pytest
import trio

from slpstream.model.errors import NoSuchGame
from slpstream.model.messages import Cursor, Position
from slpstream.stream import Game, LogConsumer, Subscription
from tests.stream.fakes import Client, FakeLog, FakeStation, game_id, hub_of, lines, settle, subscription

pytestmark = pytest.mark.trio
KNOWN = 3
GAMES = 24


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.games.KNOWN_GAMES", KNOWN)


class ForgetfulStation(FakeStation):
    """A station that finds dropped games through their files, like games from before the daemon started."""

    async def _locate(self, game_id: str) -> None:
        await trio.lowlevel.checkpoint()
        known = {game.game_id for game in self.channel.games if not game.archived}
        files = [file for name, file in self.files.items() if name not in known]
        ids = [file.log.game_id for file in files]
        if game_id not in ids:
            raise NoSuchGame(f"no such game: {game_id}")
        self.channel.insert_archived(
            [
                Game(file.log.game_id, file, ring_bytes=0, order=(0, index, ""))
                for index, file in enumerate(files)
                if index >= ids.index(game_id)
            ]
        )

    def next_game(self, number: int, batches: int = 4) -> Game:
        """Begin another game; no file of an older one is followed."""
        self.channel.drop_oldest(())
        return self.begin(FakeLog(number, batches=batches))


def all_lines(station: FakeStation, first: int, end: int) -> list[bytes]:
    return [line for number in range(first, end) for line in lines(station.files[game_id(number)].log)]


def from_game(number: int) -> Subscription:
    """A lossless subscription from the beginning of a game."""
    return subscription(cursor=str(Cursor(game_id(number), "live", Position(0, 0))), delivery="lossless")


async def test_games_are_dropped_without_subscribers() -> None:
    station = ForgetfulStation()
    for number in range(1, 20):
        station.write_all(station.next_game(number))
    assert [game.game_id for game in station.channel.games] == [game_id(number) for number in range(16, 20)]
    for number in (1, 9, 15, 16, 19, 4):
        async with Client().subscribed(hub_of(station), from_game(number)) as client:
            assert client.lines == all_lines(station, number, 20)
    station.write_all(station.next_game(20))
    assert len(station.channel.games) == KNOWN + 1


async def test_games_that_a_slow_subscriber_needs_are_kept() -> None:
    station = ForgetfulStation()
    station.write_all(station.next_game(1))
    async with Client(room=0).subscribed(hub_of(station), from_game(1)) as client:
        for number in range(2, 12):
            station.write_all(station.next_game(number))
            await settle()
        assert len(station.channel.games) == 11
        client.allow(None)
        await settle()
        assert client.lines == all_lines(station, 1, 12)
        station.write_all(station.next_game(12))
        await settle()
        assert len(station.channel.games) == KNOWN + 1
        assert client.lines == all_lines(station, 1, 13)


async def test_followed_old_game_is_kept() -> None:
    station = ForgetfulStation()
    old = station.begin(FakeLog(1, batches=6))
    station.write(old, 3)
    for number in range(2, 10):
        station.channel.drop_oldest({old})
        station.play(FakeLog(number, batches=3))
    assert old in station.channel.games
    station.write_all(old)
    station.channel.drop_oldest(())
    station.play(FakeLog(10, batches=3))
    assert old not in station.channel.games


@pytest.mark.parametrize("seed", range(25))
async def test_random_schedules_with_many_games_and_clients(seed: int) -> None:
    chance = random.Random(seed)
    station = ForgetfulStation()
    received_from: dict[int, list[bytes]] = {}
    consumed: list[bytes] = []
    stop = trio.Event()

    async def consumer() -> None:
        async for batch in LogConsumer(station.channel):
            consumed.extend(message.json("main") for message in batch.messages)

    async def come_and_go(first: int) -> None:
        """Run a lossless client that is slow at times, disconnects, and resumes with its cursor."""
        received = received_from[first] = []
        request = from_game(first)
        while not (stop.is_set() and len(received) >= len(all_lines(station, first, GAMES + 1))):
            client = Client(room=chance.choice((0, 700, None)), limit_bytes=1500)
            async with client.subscribed(hub_of(station), request):
                for _ in range(chance.randint(1, 4)):
                    await all_waiting()
                    client.allow(chance.choice((500, 3000, None)))
            assert client.error is None
            if client.log:
                received += client.log
                request = subscription(cursor=client.cursor(), delivery="lossless")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumer)
        for number in range(1, GAMES + 1):
            game = station.next_game(number, batches=chance.randint(1, 6))
            station.write(game, chance.randint(1, 3))
            if chance.random() < 0.3:
                nursery.start_soon(come_and_go, chance.randint(max(1, number - 8), number))
            await all_waiting()
            while station.write(game):
                if chance.random() < 0.3:
                    await all_waiting()
        stop.set()
        with trio.fail_after(60):
            while len(consumed) < len(all_lines(station, 1, GAMES + 1)) or len(nursery.child_tasks) > 1:
                await all_waiting()
        nursery.cancel_scope.cancel()
    assert consumed == all_lines(station, 1, GAMES + 1)
    assert received_from
    for first, received in received_from.items():
        assert received == all_lines(station, first, GAMES + 1), first


async def all_waiting() -> None:
    """Let all tasks run until they wait."""
    await trio.testing.wait_all_tasks_blocked(0.0005)
