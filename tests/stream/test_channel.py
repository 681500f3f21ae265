"""A subscriber's starting point, the messages that it receives, and how its subscription ends.

`fakes.py` explains why these tests are deterministic.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import trio

from slpstream.model.errors import CursorGone, NoSuchGame, TooSlow
from slpstream.model.messages import DROPPABLE_TYPES, Cursor, FramesMode, LogMessage, Position
from tests.stream.fakes import (
    Client,
    FakeLog,
    FakeStation,
    LineEncoding,
    game_id,
    hub_of,
    lines,
    settle,
    subscription,
)

pytestmark = [pytest.mark.trio, pytest.mark.usefixtures("each_way")]


def types(client: Client) -> list[str]:
    return [message["type"] for message in client.messages]


def cursor_of(message: LogMessage) -> str:
    assert message.cursor is not None
    return message.cursor


@pytest.mark.parametrize("mode", ["live", "finalized"])
@pytest.mark.parametrize("delivery", ["conflate", "lossless"])
async def test_live_subscriber_joins_a_game_with_a_snapshot(mode: FramesMode, delivery: str) -> None:
    station, log = FakeStation(), FakeLog(batches=20)
    game = station.begin(log)
    station.write(game, 12)
    before = log.first(12, mode)
    request = subscription(stations=["main"], frames=mode, delivery=delivery)
    async with Client().subscribed(hub_of(station), request) as client:
        snapshot = client.messages[0]
        newest = [m for m in before if m.type == "frame"][-1]
        assert types(client) == ["snapshot"]
        assert snapshot["gameId"] == log.game_id
        assert snapshot["settings"] == {"players": []}
        assert snapshot["frame"] == msgspec.json.decode(newest.entry())
        assert snapshot["cursor"] == before[-1].cursor
        station.write_all(game)
        await settle()
        assert client.log == lines(log, mode=mode)[len(before) :]


@pytest.mark.parametrize("earlier", [0, 1])
async def test_live_subscription_between_games_gets_the_next_game_whole(earlier: int) -> None:
    station, log = FakeStation(), FakeLog(2, batches=5)
    for number in range(earlier):
        station.play(FakeLog(number))
    async with Client().subscribed(hub_of(station), subscription()) as client:
        assert client.log == []
        station.play(log)
        await settle()
        assert client.lines == lines(log)


async def test_start_begins_with_the_current_or_the_next_game() -> None:
    station, log, next_log = FakeStation(), FakeLog(1), FakeLog(2)
    request = subscription(cursor="start", delivery="lossless")
    async with Client().subscribed(hub_of(station), request) as before:
        game = station.play(log)
        await settle()
        async with Client().subscribed(hub_of(station), request) as after:
            station.play(next_log)
            await settle()
            assert before.lines == after.lines == lines(log) + lines(next_log)
    assert game.ended


@pytest.mark.parametrize("mode", ["live", "finalized"])
async def test_frame_cursor_begins_at_that_frame(mode: FramesMode) -> None:
    station, log = FakeStation(), FakeLog(batches=12)
    station.play(log)
    whole = log.whole(mode)
    async with Client().subscribed(hub_of(station), subscription(cursor=f"{log.game_id}/frame:12")) as client:
        assert isinstance(client.error, CursorGone)
    for number in (0, 5, 11):
        request = subscription(cursor=f"{log.game_id}/frame:{number}", delivery="lossless", frames=mode)
        first = next(index for index, m in enumerate(whole) if m.frame is not None and m.frame >= number)
        async with Client().subscribed(hub_of(station), request) as client:
            assert client.lines == lines(log, mode=mode)[first:]


async def test_cursor_past_the_end_of_a_game_is_gone() -> None:
    """In a game without an end, which can still grow, the subscriber waits there instead."""
    finished, old, unfinished = FakeLog(3), FakeLog(2, batches=6), FakeLog(1, batches=6, ended=False)
    station = FakeStation()
    station.archived(unfinished, old)
    station.play(finished)
    for log, expected in ((finished, CursorGone), (old, CursorGone), (unfinished, type(None))):
        end = log.whole()[-1].position
        for position in ((end.offset + 1, end.count), (end.offset, end.count + 1), (1 << 40, 0)):
            cursor = str(Cursor(log.game_id, "live", Position(*position)))
            async with Client().subscribed(hub_of(station), subscription(cursor=cursor)) as client:
                await settle()
                assert isinstance(client.error, expected)
        async with Client().subscribed(hub_of(station), subscription(cursor=cursor_of(log.whole()[-1]))) as client:
            await settle()
            assert client.error is None


async def test_archived_game_is_read_only_once() -> None:
    """Otherwise a subscriber of a busy station would never become live."""
    station, old, live = FakeStation(), FakeLog(1, batches=6), FakeLog(2, batches=40)
    station.archived(old)
    game = station.begin(live)
    station.write(game, 3)
    request = subscription(cursor=cursor_of(old.whole()[2]), delivery="lossless")
    async with Client(limit_bytes=1000).subscribed(hub_of(station), request) as client:
        file = next(iter(station.archive))
        replays = file.replays
        client.room = 0
        station.write(game, 20)
        assert station.channel.subscribers == 0  # no longer live: it has to catch up
        client.allow(None)
        station.write_all(game)
        await settle()
        assert file.replays == replays
        assert client.lines == lines(old)[3:] + lines(live)


async def test_archived_game_is_freed_after_its_last_reader() -> None:
    station, old = FakeStation(), FakeLog(1, batches=6)
    station.archived(old)
    request = subscription(cursor=cursor_of(old.whole()[2]), delivery="lossless")
    quick, slow = Client(), Client(room=0, limit_bytes=100)
    async with slow.subscribed(hub_of(station), request), quick.subscribed(hub_of(station), request):
        await settle()
        assert (quick.lines, station.archive[0].forgotten) == (lines(old)[3:], 0)
        slow.allow(None)
        await settle()
        assert (slow.lines, station.archive[0].forgotten) == (lines(old)[3:], 1)


@pytest.mark.parametrize("read", ["part", "all"])
@pytest.mark.parametrize("joined", ["reading", "live"])
async def test_archived_game_that_grows_again_delivers_only_new_messages(read: str, joined: str) -> None:
    """The station follows the file again from its first byte, but subscribers get only the new messages."""
    log = FakeLog(1, batches=20)
    station = FakeStation()
    station.archived(log)
    station.archive[0].written = 8
    known = log.first(8)
    client = Client(room=0 if read == "part" and joined == "reading" else None)
    request = subscription(cursor=cursor_of(known[2]), delivery="lossless")
    async with client.subscribed(hub_of(station), request):
        game = station.begin(log, catching_up=True)
        station.write(game, 5)
        await settle()
        station.write(game, 5)
        station.channel.caught_up(game)
        if joined == "live":
            await settle()
        station.write_all(game)
        client.allow(None)
        await settle()
        assert client.lines == lines(log)[3:]


@pytest.mark.parametrize("damage", ["missing", "truncated"])
async def test_cursor_into_a_damaged_file_is_gone(damage: str) -> None:
    station, log = FakeStation(ring_bytes=1), FakeLog(1)
    file = station.files[station.play(log).game_id]
    file.gone, file.written = damage == "missing", 0
    async with Client().subscribed(hub_of(station), subscription(cursor="start")) as client:
        assert isinstance(client.error, CursorGone)
        assert client.error.close_code == 4410


async def test_only_requested_stations_are_delivered() -> None:
    left, right = FakeStation("left"), FakeStation("right")
    two = FakeLog(2, batches=4)
    async with Client().subscribed(hub_of(left, right), subscription(stations=["right"])) as client:
        left.play(FakeLog(1))
        right.play(two)
        await settle()
        assert client.lines == lines(two, "right")


async def test_unknown_station_is_refused() -> None:
    with pytest.raises(NoSuchGame, match="third"):
        hub_of(FakeStation("left")).check(("left", "third"))


async def test_each_station_can_have_its_own_cursor() -> None:
    left, right, third = FakeStation("left"), FakeStation("right"), FakeStation("third")
    one, two, three = FakeLog(1, batches=4), FakeLog(2, batches=4), FakeLog(3, batches=4)
    for station, log in ((left, one), (right, two), (third, three)):
        station.play(log)
    request = subscription(
        stations=["left", "right", "third"],
        cursor={"left": cursor_of(one.whole()[3]), "right": "start"},
        delivery="lossless",
    )
    async with Client().subscribed(hub_of(left, right, third), request) as client:
        assert sorted(client.lines) == sorted(lines(one, "left")[4:] + lines(two, "right"))


async def test_one_cursor_for_several_stations_applies_to_its_owner() -> None:
    left, right = FakeStation("left"), FakeStation("right")
    one, two = FakeLog(1, batches=4), FakeLog(2, batches=10)
    left.play(one)
    game = right.begin(two)
    right.write(game, 5)
    request = subscription(stations=["left", "right"], cursor=cursor_of(one.whole()[3]), delivery="lossless")
    async with Client().subscribed(hub_of(left, right), request) as client:
        assert client.error is None
        assert client.log == lines(one, "left")[4:]
        assert [snapshot["station"] for snapshot in client.of_type("snapshot")] == ["right"]


@pytest.mark.parametrize("stations", ["*", ["left"], ["left", "right"]])
@pytest.mark.parametrize("mapped", [False, True])
async def test_cursor_that_no_station_owns_is_refused(stations: Any, mapped: bool) -> None:
    left, right = FakeStation("left"), FakeStation("right")
    left.play(FakeLog(1))
    cursor = f"{game_id(9)}/l5.0"
    request = subscription(stations=stations, cursor={"left": cursor} if mapped else cursor)
    async with Client().subscribed(hub_of(left, right), request) as client:
        assert isinstance(client.error, NoSuchGame)
        assert client.error.close_code == 4404


async def test_live_subscriber_joins_while_two_games_grow() -> None:
    station, one, two = FakeStation(), FakeLog(1, batches=20), FakeLog(2, batches=20)
    first = station.begin(one)
    station.write(first, 5)
    second = station.begin(two)
    station.write(second, 5)
    seen = {log: len(log.first(5)) for log in (one, two)}
    assert station.channel.current is second
    async with Client().subscribed(hub_of(station), subscription(delivery="lossless")) as client:
        assert [snapshot["gameId"] for snapshot in client.of_type("snapshot")] == [two.game_id]
        station.write_all(first)
        station.write_all(second)
        await settle()
        assert client.log == lines(one)[seen[one] :] + lines(two)[seen[two] :]


@pytest.mark.parametrize("beginning", ["live", "start", "resumed"])
@pytest.mark.parametrize("left", [False, True], ids=["in progress", "left"])
async def test_slow_subscriber_catches_up_in_an_older_game(beginning: str, left: bool) -> None:
    """A subscriber that began with the newer of two games also gets all later messages of the older one."""
    station, one, two = FakeStation(), FakeLog(1, batches=40), FakeLog(2, batches=40)
    first = station.begin(one)
    station.write(first, 10)
    second = station.begin(two)
    station.write(second, 3)
    if left:
        first.leave()
    cursor = cursor_of(two.batches[1]["live"][0]) if beginning == "resumed" else beginning
    client = Client(limit_bytes=4000)
    async with client.subscribed(hub_of(station), subscription(delivery="lossless", cursor=cursor)):
        await settle()
        if left:
            station.channel.take_back(first)
        station.write(first)
        await settle()
        client.room = 0
        station.write(first, 25)
        await settle()
        client.allow(None)
        await settle()
        station.write_all(first)
        station.write_all(second)
        await settle()
        received = [line for line in client.log if one.game_id.encode() in line]
        assert client.error is None
        assert received == lines(one)[-len(received) :]
        assert len(received) >= sum(len(batch["live"]) for batch in one.batches[10:])
        assert client.log.count(lines(two)[-1]) == 1


async def test_slow_client_keeps_the_newest_frame_of_each_game() -> None:
    station, one, two = FakeStation(), FakeLog(1, batches=9, ended=False), FakeLog(2, batches=9, ended=False)
    first, second = station.begin(one), station.begin(two)
    station.write(first)
    station.write(second)
    client = Client(limit_bytes=1 << 20)
    async with client.subscribed(hub_of(station), subscription()):
        client.room = 0
        station.write_all(first)
        station.write_all(second)
        client.allow(None)
        await settle()
        frames = {m["gameId"]: m["frame"]["frame"] for m in client.of_type("frame")}
        assert frames == {one.game_id: 8, two.game_id: 8}


async def test_no_messages_are_sent_before_the_folder_was_searched() -> None:
    station, log = FakeStation(settled=False), FakeLog(1, batches=20)
    hub = hub_of(station)
    cursor = cursor_of(log.whole()[4])
    live, start, resumed = Client(), Client(), Client()
    async with (
        live.subscribed(hub, subscription(delivery="lossless")),
        start.subscribed(hub, subscription(delivery="lossless", cursor="start")),
        resumed.subscribed(hub, subscription(delivery="lossless", cursor=cursor)),
    ):
        game = station.begin(log, catching_up=True)
        station.write(game, 10)
        await settle()
        assert live.lines == start.lines == resumed.lines == []
        station.channel.caught_up(game)
        station.channel.settled = True
        station.channel.notify()
        await settle()
        known = log.first(10)
        assert [m["cursor"] for m in live.messages] == [known[-1].cursor]
        station.write_all(game)
        await settle()
        assert live.log == lines(log)[len(known) :]
        assert start.lines == lines(log)
        assert resumed.lines == lines(log)[5:]


async def test_subscribers_join_while_a_game_catches_up() -> None:
    station, log = FakeStation(), FakeLog(1, batches=30)
    hub = hub_of(station)
    game = station.begin(log, catching_up=True)
    station.write(game, 5)
    live, resumed, ahead, overlay = Client(), Client(), Client(), Client()
    async with (
        live.subscribed(hub, subscription()),
        resumed.subscribed(hub, subscription(delivery="lossless", cursor=cursor_of(log.whole()[3]))),
        ahead.subscribed(hub, subscription(delivery="lossless", cursor=cursor_of(log.batches[15]["live"][-1]))),
        overlay.subscribed(hub, subscription(cursor=cursor_of(log.whole()[3]))),
    ):
        station.write(game, 5)
        await settle()
        assert live.lines == []
        assert ahead.lines == []
        station.write(game, 10)
        station.channel.caught_up(game)
        await settle()
        known = log.first(20)
        assert [(m["type"], m["cursor"]) for m in live.messages] == [("snapshot", known[-1].cursor)]
        station.write_all(game)
        await settle()
        assert live.log == lines(log)[len(known) :]
        assert resumed.lines == lines(log)[4:]
        assert ahead.lines == lines(log)[len(log.first(16)) :]
        kept = [m.json("main") for m in log.whole()[4:] if m.type not in DROPPABLE_TYPES]
        assert [line for line in overlay.lines if line in kept] == kept
        assert overlay.of_type("snapshot") == []


async def test_old_game_that_continues_reaches_live_subscribers() -> None:
    station, current, old = FakeStation(), FakeLog(1, batches=30), FakeLog(2, batches=30)
    hub = hub_of(station)
    playing = station.begin(current)
    station.write(playing, 3)
    seen = len(current.first(3))
    overlay, recorder = Client(), Client()
    async with (
        overlay.subscribed(hub, subscription()),
        recorder.subscribed(hub, subscription(delivery="lossless")),
    ):
        game = station.begin(old, catching_up=True)
        station.write(game, 10)
        station.write(playing, 3)
        await settle()
        assert {m["gameId"] for m in overlay.messages + recorder.messages} == {current.game_id}
        station.channel.caught_up(game)
        station.write_all(game)
        station.write_all(playing)
        await settle()
        assert [m["gameId"] for m in overlay.of_type("snapshot")] == [current.game_id, old.game_id]
        known = len(old.first(10))
        assert [line for line in overlay.log if old.game_id.encode() in line] == lines(old)[known:]
        assert [line for line in recorder.log if old.game_id.encode() in line] == lines(old)
        assert [line for line in recorder.log if current.game_id.encode() in line] == lines(current)[seen:]


async def test_game_over_before_startup_is_known_but_not_streamed() -> None:
    station, log, next_log = FakeStation(settled=False), FakeLog(1), FakeLog(2, batches=3)
    hub = hub_of(station)
    live, resumed = Client(), Client()
    half = len(log.whole()) // 2
    async with (
        live.subscribed(hub, subscription(delivery="lossless", cursor="start")),
        resumed.subscribed(hub, subscription(delivery="lossless", cursor=cursor_of(log.whole()[half]))),
    ):
        game = station.begin(log, catching_up=True)
        station.write_all(game)
        station.channel.retire(game, 5, "Game.slp")
        station.channel.caught_up(game)
        station.channel.settled = True
        station.channel.notify()
        await settle()
        assert (station.channel.current, game.in_progress) == (None, False)
        station.play(next_log)
        await settle()
        assert live.lines == lines(next_log)
        assert resumed.lines == lines(log)[half + 1 :] + lines(next_log)


async def test_file_that_is_read_again_delivers_only_new_messages() -> None:
    station, log = FakeStation(), FakeLog(1, batches=20)
    async with Client().subscribed(hub_of(station), subscription(delivery="lossless")) as client:
        game = station.begin(log)
        station.write(game, 12)
        station.files[game.game_id].written = 0
        station.write_all(game)
        await settle()
        assert client.lines == lines(log)


async def test_rate_limits_frames_and_finality_can_be_left_out() -> None:
    station, log = FakeStation(), FakeLog(batches=30)
    clients = [Client(), Client()]
    async with (
        clients[0].subscribed(hub_of(station), subscription(rate=30, finality=False)),
        clients[1].subscribed(hub_of(station), subscription(rate=30)),
    ):
        station.play(log)
        await settle()
        wanted = [m for m in log.whole() if m.frame is None or m.frame % 2 == 0]
        assert clients[1].lines == [m.json("main") for m in wanted]
        assert clients[0].lines == [m.json("main") for m in wanted if m.type != "finalized"]
        assert len(clients[0].lines) < len(clients[1].lines)


async def test_message_is_encoded_once_per_group() -> None:
    station, log = FakeStation(), FakeLog(batches=20)
    hub, encoding = hub_of(station), LineEncoding()
    clients = [Client(encoding=encoding) for _ in range(50)]
    async with trio.open_nursery() as nursery:

        async def connect(client: Client, task_status: trio.TaskStatus[None]) -> None:
            async with client.subscribed(hub, subscription(rate=60 + clients.index(client) % 2)):
                task_status.started()
                await trio.sleep_forever()

        for client in clients:
            await nursery.start(connect, client)
        assert station.channel.subscribers == 50
        station.play(log)
        await settle()
        assert all(client.lines == lines(log) for client in clients)
        assert encoding.encoded == len(log.whole())
        nursery.cancel_scope.cancel()
    assert station.channel.subscribers == 0
    assert all(message.forms is None for message in log.whole())


async def test_permanently_slow_client_gets_lagged_messages() -> None:
    """`lagged` messages do not wait for an empty queue."""
    station, log = FakeStation(), FakeLog(batches=60, ended=False)
    game = station.begin(log)
    station.write(game)
    client = Client(room=0, limit_bytes=20_000)
    async with client.subscribed(hub_of(station), subscription(topics=["frame"])):
        while station.write(game):
            client.allow(60)
            await settle()
            assert not client.outbox.empty
        assert client.of_type("lagged")


async def test_undroppable_message_without_room_ends_the_subscription() -> None:
    station, log = FakeStation(), FakeLog(batches=100)
    game = station.begin(log)
    client = Client(limit_bytes=700)
    async with client.subscribed(hub_of(station), subscription(topics=["game", "event"])):
        station.write(game, 3)
        client.room = 3
        station.write_all(game)
        await settle()
        assert isinstance(client.error, TooSlow)
        assert client.error.close_code == 1013
        assert station.channel.subscribers == 0
        client.allow(None)
        await settle()
        # It received the beginning of the log without a gap, so its last cursor is valid.
        expected = [m.json("main") for m in log.whole() if m.topic in ("game", "event")]
        assert client.lines == expected[: len(client.lines)]
        assert len(client.lines) < len(expected)


async def test_no_message_is_sent_after_one_that_did_not_fit() -> None:
    """The cursor of a later message would imply that all messages before it were received."""
    station = FakeStation()
    game = station.begin(FakeLog(batches=0, ended=False))
    station.write_all(game)
    bodies = (b'"kind":"a"}', b'"kind":"%b"}' % (b"b" * 500), b'"kind":"c"}')
    events = [LogMessage("event", game.game_id, "live", 5000, count, body, None) for count, body in enumerate(bodies)]
    client = Client(limit_bytes=600)
    async with client.subscribed(hub_of(station), subscription()):
        client.room = 0
        station.channel.publish_state({"state": "idle", "reason": ""})
        station.channel.publish(game, {"live": events})
        client.allow(None)
        await settle()
        assert [message["kind"] for message in client.of_type("event")] == ["a"]
        assert isinstance(client.error, TooSlow)


async def test_failure_in_one_station_ends_all() -> None:
    left, right = FakeStation("left"), FakeStation("right")
    client = Client(limit_bytes=500)
    async with client.subscribed(hub_of(left, right), subscription(topics=["game", "event"])):
        client.room = 0
        left.play(FakeLog(1, batches=100))
        assert right.channel.subscribers == 0
        await settle()
        assert isinstance(client.error, TooSlow)


async def test_failed_subscriber_does_not_affect_its_group() -> None:
    station, log = FakeStation(), FakeLog(batches=100)
    hub = hub_of(station)
    first, slow, stuck, last = (Client(limit_bytes=900) for _ in range(4))
    request = subscription(topics=["game", "event"])
    async with (
        first.subscribed(hub, request),
        slow.subscribed(hub, subscription(topics=["game", "event"], delivery="lossless")),
        stuck.subscribed(hub, request),
        last.subscribed(hub, request),
    ):
        slow.room = stuck.room = 0
        station.play(log)
        await settle()
        slow.allow(None)
        await settle()
        expected = [m.json("main") for m in log.whole() if m.topic in ("game", "event")]
        assert first.lines == slow.lines == last.lines == expected
        assert isinstance(stuck.error, TooSlow)


async def test_slow_lossless_client_is_never_closed() -> None:
    station, log = FakeStation(ring_bytes=1), FakeLog(batches=40)
    client = Client(limit_bytes=300)
    async with client.subscribed(hub_of(station), subscription(delivery="lossless")):
        client.room = 0
        station.play(log)
        for number in range(50):
            set_state(station, str(number))
        await settle()
        assert client.error is None
        assert client.max_queued < 5000
        client.allow(None)
        await settle()
        assert client.log == lines(log)
        assert client.of_type("station")[-1]["reason"] == "49"


async def test_resumed_overlay_skips_stale_frames() -> None:
    station, log = FakeStation(ring_bytes=1 << 20), FakeLog(batches=50)
    station.play(log)
    async with Client().subscribed(hub_of(station), subscription(cursor=cursor_of(log.whole()[0]))) as client:
        kept = [m.json("main") for m in log.whole()[1:] if m.type not in DROPPABLE_TYPES]
        newest = [[m for m in log.whole() if m.type == kind][-1].json("main") for kind in DROPPABLE_TYPES]
        assert sorted(client.lines) == sorted(kept + newest)
        assert client.lines == [line for line in lines(log) if line in client.lines]


def state(reason: str) -> dict[str, Any]:
    return {"type": "station", "station": "main", "state": "playing", "reason": reason}


def set_state(station: FakeStation, reason: str) -> None:
    station.channel.publish_state({"state": "playing", "reason": reason})


async def test_station_state_is_sent_for_any_topics() -> None:
    station = FakeStation()
    set_state(station, "first")
    async with Client().subscribed(hub_of(station), subscription(topics=["stats"])) as client:
        set_state(station, "second")
        assert client.of_type("station") == [state("first"), state("second")]
        assert station.channel.state_message() == state("second")


async def test_subscriber_that_catches_up_gets_the_newest_state_and_set() -> None:
    station, log = FakeStation(), FakeLog(batches=20)
    station.play(log)
    client = Client(room=100)
    async with client.subscribed(hub_of(station), subscription(cursor="start", delivery="lossless")):
        set_state(station, "not sent while it catches up")
        set_state(station, "newest")
        for length in (1, 3, 5):
            station.channel.publish_set({"bestOf": length})
        client.allow(None)
        client.allow(None)
        await settle()
        assert [m["reason"] for m in client.of_type("station")] == ["starting", "newest"]
        assert [message["bestOf"] for message in client.of_type("set")] == [5]
        assert client.lines == lines(log)


@pytest.mark.parametrize("delivery", ["conflate", "lossless"])
@pytest.mark.parametrize("beginning", ["live", "start", "end of the game"])
async def test_changes_reach_a_subscriber_that_is_joining(beginning: str, delivery: str) -> None:
    log = FakeLog(batches=5)
    cursor = cursor_of(log.whole()[-1]) if beginning == "end of the game" else beginning
    for attempt in range(150):
        station = FakeStation()
        station.archived(log)
        client = Client()
        request = subscription(cursor=cursor, delivery=delivery)
        async with client.subscribed(hub_of(station), request, settled=False):
            for _ in range(attempt // 5):  # several times, because Trio chooses the order of tasks at random
                await trio.lowlevel.checkpoint()
            set_state(station, "newest")
            station.channel.publish_set({"bestOf": 5})
            await settle()
            assert client.of_type("station")[-1] == state("newest")
            assert [message["bestOf"] for message in client.of_type("set")] == [5]


async def test_set_is_sent_to_new_subscribers_and_on_changes() -> None:
    station = FakeStation()
    hub = hub_of(station)
    async with Client().subscribed(hub, subscription(topics=["stats"])) as client:
        assert client.of_type("set") == [], "there is no set yet"
        assert station.channel.set_message() is None
        station.channel.publish_set({"bestOf": 3})
        station.channel.publish_set({"bestOf": 3})
        station.channel.publish_set({"bestOf": 5})
        expected = [{"type": "set", "station": "main", "bestOf": length} for length in (3, 5)]
        assert client.of_type("set") == expected
    game = station.begin(FakeLog(batches=3, ended=False))
    station.write_all(game)
    for delivery in ("conflate", "lossless"):
        async with Client().subscribed(hub, subscription(delivery=delivery)) as newcomer:
            assert newcomer.of_type("set") == expected[1:]
            assert newcomer.of_type("snapshot")[0]["set"] == {"bestOf": 5}


async def test_diagnostic_without_a_game_is_sent_by_topic() -> None:
    station = FakeStation()
    hub = hub_of(station)
    loose = LogMessage("diagnostic", None, "live", 0, 0, b'"code":"wrong_format"}', None)
    async with (
        Client().subscribed(hub, subscription()) as everything,
        Client().subscribed(hub, subscription(topics=["game"])) as games,
    ):
        station.channel.publish_loose(loose)
        assert everything.messages == [{"type": "diagnostic", "station": "main", "code": "wrong_format"}]
        assert games.lines == []


async def test_client_that_fails_on_a_state_does_not_affect_others() -> None:
    station = FakeStation()
    hub = hub_of(station)
    clients = [Client(limit_bytes=200) for _ in range(4)]
    async with (
        clients[0].subscribed(hub, subscription(rate=1)),
        clients[1].subscribed(hub, subscription(rate=1)),
        clients[2].subscribed(hub, subscription(rate=2)),
        clients[3].subscribed(hub, subscription(rate=3)),
    ):
        clients[0].room = clients[2].room = 0
        for number in range(5):
            set_state(station, f"{number}" * 50)
        await settle()
        assert [type(client.error) for client in clients] == [TooSlow, type(None), TooSlow, type(None)]
        assert len(clients[1].of_type("station")) == len(clients[3].of_type("station")) == 6


async def test_rings_and_log_readers_of_finished_games_are_freed() -> None:
    station = FakeStation(ring_bytes=1 << 20)
    games = [station.play(FakeLog(number, batches=3)) for number in range(1, 4)]
    running = station.begin(FakeLog(4, batches=3, ended=False))
    station.write_all(running)
    games += [station.play(FakeLog(number, batches=3)) for number in range(5, 8)]
    assert [game.logs["live"].size_bytes > 0 for game in games] == [False] * 4 + [True] * 2
    assert running.logs["live"].size_bytes > 0
    assert [n for n in range(1, 8) if station.files[game_id(n)].forgotten] == [1, 2, 3, 5], "the fourth may continue"
    request = subscription(cursor=str(Cursor(game_id(1), "live", Position(0, 0))), delivery="lossless")
    async with Client().subscribed(hub_of(station), request) as client:
        assert client.lines == [line for n in range(1, 8) for line in lines(station.files[game_id(n)].log)]
