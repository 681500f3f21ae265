"""A station that has dropped its oldest games still delivers them to subscribers, each line once, in order."""

from __future__ import annotations

import pytest

from slpstream.model.messages import Cursor, Position
from slpstream.stream.game import Game
from slpstream.stream.subscription import Subscription
from tests.stream.fakes import Client, FakeLog, FakeStation, game_id, hub_of, lines, settle, subscription

pytestmark = pytest.mark.trio
KNOWN = 3


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.channel.KNOWN_GAMES", KNOWN)


def next_game(station: FakeStation, number: int) -> Game:
    """Begin another game. The files of older ones are no longer followed."""
    station.channel.drop_oldest(())
    return station.begin(FakeLog(number, batches=4))


def all_lines(station: FakeStation, first: int, end: int) -> list[bytes]:
    return [line for number in range(first, end) for line in lines(station.files[game_id(number)].log)]


def from_game(number: int) -> Subscription:
    """A lossless subscription from the beginning of a game."""
    return subscription(cursor=str(Cursor(game_id(number), "live", Position(0, 0))), delivery="lossless")


async def test_games_are_dropped_without_subscribers() -> None:
    station = FakeStation()
    for number in range(1, 20):
        station.write_all(next_game(station, number))
    assert [game.game_id for game in station.channel.games] == [game_id(number) for number in range(16, 20)]
    for number in (1, 9, 15, 16, 19, 4):
        async with Client().subscribed(hub_of(station), from_game(number)) as client:
            assert client.lines == all_lines(station, number, 20)
    station.write_all(next_game(station, 20))
    assert len(station.channel.games) == KNOWN + 1


async def test_games_that_a_slow_subscriber_needs_are_kept() -> None:
    station = FakeStation()
    station.write_all(next_game(station, 1))
    async with Client(room=0).subscribed(hub_of(station), from_game(1)) as client:
        for number in range(2, 12):
            station.write_all(next_game(station, number))
            await settle()
        assert len(station.channel.games) == 11
        client.allow(None)
        await settle()
        assert client.lines == all_lines(station, 1, 12)
        station.write_all(next_game(station, 12))
        await settle()
        assert len(station.channel.games) == KNOWN + 1
        assert client.lines == all_lines(station, 1, 13)


async def test_followed_old_game_is_kept() -> None:
    station = FakeStation()
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
