"""A station that does not know its oldest games any more: whoever needs them gets them, each line once, in order."""

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
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.games._KNOWN_GAMES", KNOWN)


class LongDay(FakeStation):
    """Games that are not known any more are found by their files, as those from before the daemon are."""

    async def _locate(self, wanted: str) -> None:
        await trio.lowlevel.checkpoint()
        known = {game.game_id for game in self.channel.games if not game.archived}
        files = [file for name, file in self.files.items() if name not in known]
        ids = [file.log.game_id for file in files]
        if wanted not in ids:
            raise NoSuchGame(f"no such game: {wanted}")
        self.channel.insert_archived(
            [
                Game(file.log.game_id, file, ring_bytes=0, order=(0, at, ""))
                for at, file in enumerate(files)
                if at >= ids.index(wanted)
            ]
        )

    def next_game(self, number: int, batches: int = 4) -> Game:
        """Another one begins; nobody follows those before."""
        self.channel.drop_oldest(())
        return self.begin(FakeLog(number, batches=batches))


def all_lines(station: FakeStation, first: int, past: int) -> list[bytes]:
    return [line for number in range(first, past) for line in lines(station.files[game_id(number)].log)]


def behind(number: int) -> Subscription:
    """From the beginning of a game on."""
    return subscription(cursor=str(Cursor(game_id(number), "live", Position(0, 0))), delivery="lossless")


async def test_nobody_there() -> None:
    station = LongDay()
    for number in range(1, 20):
        station.write_all(station.next_game(number))
    assert [game.game_id for game in station.channel.games] == [game_id(number) for number in range(16, 20)]
    for number in (1, 9, 15, 16, 19, 4):
        async with Client().subscribed(hub_of(station), behind(number)) as client:
            assert client.lines == all_lines(station, number, 20)
    station.write_all(station.next_game(20))
    assert len(station.channel.games) == KNOWN + 1


async def test_one_that_is_behind_keeps_what_it_needs() -> None:
    station = LongDay()
    station.write_all(station.next_game(1))
    async with Client(room=0).subscribed(hub_of(station), behind(1)) as client:
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


async def test_what_was_read_before_is_not_read_again_because_somebody_else_asks_for_it() -> None:
    station = LongDay()
    for number in range(1, 8):
        station.write_all(station.next_game(number))
    async with Client(limit_bytes=500).subscribed(hub_of(station), behind(2)) as client:
        for number in range(8, 12):
            station.write_all(station.next_game(number))
            await settle()
        game = station.next_game(12, batches=8)
        station.write(game)
        async with Client().subscribed(hub_of(station), behind(1)) as other:
            client.room = 0
            station.write_all(game)  # too much for it: it falls behind, and looks what there is
            await settle()
            client.allow(None)
            await settle()
            assert client.lines == all_lines(station, 2, 13)
            assert other.lines == all_lines(station, 1, 13)


async def test_an_old_game_that_is_still_followed_stays() -> None:
    station = LongDay()
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
async def test_a_long_day_with_clients_of_all_kinds(seed: int) -> None:
    chance = random.Random(seed)
    station = LongDay()
    got: dict[int, list[bytes]] = {}
    tapped: list[bytes] = []
    stop = trio.Event()

    async def consumer() -> None:
        async for batch in LogConsumer(station.channel):
            tapped.extend(message.json("main") for message in batch.messages)

    async def come_and_go(first: int) -> None:
        """A lossless client that is slow at times, leaves, and comes back with its cursor."""
        mine = got[first] = []
        wanted = behind(first)
        while not (stop.is_set() and len(mine) >= len(all_lines(station, first, GAMES + 1))):
            client = Client(room=chance.choice((0, 700, None)), limit_bytes=1500)
            async with client.subscribed(hub_of(station), wanted):
                for _ in range(chance.randint(1, 4)):
                    await a_while()
                    client.allow(chance.choice((500, 3000, None)))
            assert client.error is None
            if client.log:
                mine += client.log
                wanted = subscription(cursor=client.cursor(), delivery="lossless")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consumer)
        for number in range(1, GAMES + 1):
            game = station.next_game(number, batches=chance.randint(1, 6))
            station.write(game, chance.randint(1, 3))
            if chance.random() < 0.3:
                nursery.start_soon(come_and_go, chance.randint(max(1, number - 8), number))
            await a_while()
            while station.write(game):
                if chance.random() < 0.3:
                    await a_while()
        stop.set()
        with trio.fail_after(60):
            while len(tapped) < len(all_lines(station, 1, GAMES + 1)) or len(nursery.child_tasks) > 1:
                await a_while()
        nursery.cancel_scope.cancel()
    assert tapped == all_lines(station, 1, GAMES + 1)
    assert got
    for first, mine in got.items():
        assert mine == all_lines(station, first, GAMES + 1), first


async def a_while() -> None:
    """Everybody does what there is to do."""
    await trio.testing.wait_all_tasks_blocked(0.0005)
