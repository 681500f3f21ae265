"""Secondary games: lossless subscribers receive them, conflating ones stay with the game that is played."""

from __future__ import annotations

import pytest

from slpstream.model.messages import LogMessage
from slpstream.stream.log_consumer import LogConsumer
from slpstream.system.internal_errors import InternalErrors
from tests.stream.fakes import Client, FakeLog, FakeStation, LineEncoding, hub_of, lines, settle, subscription

pytestmark = [pytest.mark.trio, pytest.mark.usefixtures("each_way")]


async def test_conflating_subscriber_stays_with_the_game_that_is_played() -> None:
    station, played, old = FakeStation(), FakeLog(1, batches=20), FakeLog(2, batches=20)
    keys = {"stations": ["main"], "delivery": "conflate"}
    async with (
        Client().subscribed(hub_of(station), subscription(**keys)) as client,
        Client().subscribed(hub_of(station), subscription(**{**keys, "delivery": "lossless"})) as lossless,
    ):
        game = station.begin(played)
        station.write(game, 8)
        other = station.begin(old, secondary=True)
        assert station.channel.current is game
        station.write_all(other)
        station.write_all(game)
        await settle()
        assert client.log == lines(played)
        assert sorted(lossless.log) == sorted(lines(played) + lines(old))
        assert station.channel.current is game


async def test_bug_in_a_secondary_game_ends_only_those_that_receive_it() -> None:
    class Broken(LineEncoding):
        def log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None = None) -> bytes:
            if message.game_id == old.game_id:
                raise ValueError("a bug")
            return super().log(message, station, fields)

    station = FakeStation(errors=InternalErrors(strict=False))
    played, old = FakeLog(1, batches=20), FakeLog(2, batches=20)
    keys = {"stations": ["main"], "delivery": "conflate"}
    async with (
        Client(encoding=Broken()).subscribed(hub_of(station), subscription(**keys)) as client,
        Client(encoding=Broken()).subscribed(
            hub_of(station), subscription(**{**keys, "delivery": "lossless"})
        ) as lossless,
    ):
        game = station.begin(played)
        station.write(game, 8)
        station.write_all(station.begin(old, secondary=True))
        station.write_all(game)
        await settle()
        assert client.log == lines(played)
        assert client.error is None
        assert lossless.error is not None


async def test_resumed_conflating_subscriber_skips_secondary_games() -> None:
    station, played, old = FakeStation(), FakeLog(1, batches=20), FakeLog(2, batches=20)
    game = station.begin(played)
    station.write_all(game)
    station.write_all(station.begin(old, secondary=True))
    cursor = played.whole()[3].cursor
    async with Client().subscribed(hub_of(station), subscription(stations=["main"], cursor=cursor)) as client:
        assert {message["gameId"] for message in client.messages} == {played.game_id}
    own = old.whole()[3].cursor
    async with Client().subscribed(hub_of(station), subscription(stations=["main"], cursor=own)) as client:
        assert {message["gameId"] for message in client.messages} == {old.game_id}, "unless its cursor names one"


async def test_lossless_subscriber_resumed_in_a_secondary_game_misses_nothing() -> None:
    """It has the first secondary game and half of the second. Its position in the played game is unknown."""
    station, played = FakeStation(), FakeLog(1, batches=20)
    olds = [FakeLog(number, batches=9) for number in (2, 3, 4)]
    game = station.begin(played)
    station.write(game, 8)
    for old in olds[:2]:
        station.write_all(station.begin(old, secondary=True))
    cursor = olds[1].whole()[3].cursor
    request = subscription(stations=["main"], delivery="lossless", cursor=cursor)
    async with Client().subscribed(hub_of(station), request) as client:
        await settle()
        station.write_all(station.begin(olds[2], secondary=True))
        station.write_all(game)
        await settle()
        rest = lines(olds[1])[4:] + lines(olds[2])
        assert [line for line in client.log if line in lines(played)] == lines(played)
        assert [line for line in client.log if line not in lines(played)] == rest


async def test_lossless_subscriber_resumed_in_an_archived_game_misses_nothing() -> None:
    """At startup, the file of the game in progress is read first, so a game that was over begins as a secondary one."""
    station, played, over = FakeStation(), FakeLog(1, batches=20), FakeLog(2, batches=9)
    game = station.begin(played)
    station.write(game, 8)
    before = station.begin(over, secondary=True)
    station.write_all(before)
    station.channel.retire(before, 1, "Game_1.slp")
    request = subscription(stations=["main"], delivery="lossless", cursor=over.whole()[3].cursor)
    async with Client().subscribed(hub_of(station), request) as client:
        station.write_all(game)
        await settle()
        assert client.log == lines(over)[4:] + lines(played)


async def test_secondary_game_that_becomes_current_is_sent_from_its_beginning() -> None:
    station, crashed, played = FakeStation(), FakeLog(1, batches=9, ended=False), FakeLog(2, batches=20)
    request = subscription(stations=["main"], delivery="conflate")
    async with Client().subscribed(hub_of(station), request) as client:
        station.write_all(station.begin(crashed))
        game = station.begin(played, secondary=True)
        station.write(game, 8)
        await settle()
        assert client.log == lines(crashed)
        station.channel.turn_to(game)
        assert station.channel.current is game
        station.write_all(game)
        await settle()
        received = [message["type"] for message in client.messages if message["gameId"] == played.game_id]
        assert received[0] == "game_start"
        assert received[-2:] == ["game_end", "metadata"]


async def test_return_to_an_older_game_sends_a_snapshot() -> None:
    station, older, newer = FakeStation(), FakeLog(1, batches=20), FakeLog(2, batches=9)
    request = subscription(stations=["main"], delivery="conflate")
    async with Client().subscribed(hub_of(station), request) as client:
        game = station.begin(older)
        station.write(game, 8)
        station.write_all(station.begin(newer))
        station.channel.turn_to(game)
        await settle()
        assert client.messages[-1]["type"] == "snapshot"
        assert client.messages[-1]["gameId"] == older.game_id


async def test_log_consumer_reads_the_game_that_is_played_first() -> None:
    station, played, old = FakeStation(), FakeLog(1, batches=20), FakeLog(2, batches=200)
    game = station.begin(played)
    station.write(game, 8)
    other = station.begin(old, secondary=True)
    consumer = LogConsumer(station.channel)
    received: list[bytes] = []
    ids: list[str] = []

    async def take() -> None:
        batch = await anext(consumer)
        ids.append(batch.game_id)
        received.extend(message.json("main") for message in batch.messages)

    begun = [message.json("main") for batch in played.batches[:8] for message in batch["live"]]
    while received != begun:
        await take()
    station.write_all(other)
    await take()
    assert ids[-1] == old.game_id
    station.write_all(game)
    await take()
    assert ids[-1] == played.game_id
    while len(received) < len(lines(played)) + len(lines(old)):
        await take()
    assert sorted(received) == sorted(lines(played) + lines(old))


async def test_number_of_secondary_games_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.stream.channel.KNOWN_GAMES", 4)
    station, played = FakeStation(), FakeLog(1, batches=5)
    game = station.begin(played)
    for number in range(2, 30):
        station.channel.drop_oldest({game})
        station.write_all(station.begin(FakeLog(number, batches=2), secondary=True))
    assert len(station.channel.games) <= 6
    assert station.channel.games[0] is station.channel.current is game
    async with Client().subscribed(hub_of(station), subscription(delivery="lossless", cursor="start")) as client:
        station.write_all(game)
        await settle()
        assert [line for line in client.log if played.game_id.encode() in line] == lines(played)
