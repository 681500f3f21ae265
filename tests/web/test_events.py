"""`/v1/events`, the log of a station as server-sent events: encoding, resuming, slow clients, the end."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
import pytest
import trio
from trio.testing import MockClock
from websockets.exceptions import ConnectionClosed

from slpstream.web import events as events_module
from slpstream.web.access import Access
from slpstream.web.events import ServerSentEventsEncoding
from tests.stream.fakes import FakeLog
from tests.web.served import TIMEOUT_SECONDS, Served, served

pytestmark = pytest.mark.trio


class Event(NamedTuple):
    """One server-sent event."""

    type: str
    id: str | None
    data: Any


class Source:
    """Reads events like an `EventSource`."""

    def __init__(self, stream: trio.SocketStream, head: str, rest: bytes) -> None:
        self.stream = stream
        self.head = head
        self.retry: list[int] = []
        self._buffer = rest

    async def next(self) -> Event | None:
        """The next event; `None` at the end."""
        with trio.fail_after(TIMEOUT_SECONDS):
            while True:
                while b"\n\n" not in self._buffer:
                    data = await self.stream.receive_some()
                    if not data:
                        assert self._buffer == b"", "the last event is complete"
                        return None
                    self._buffer += data
                block, _, self._buffer = self._buffer.partition(b"\n\n")
                event = self._parse(block.decode())
                if event is not None:
                    return event

    def _parse(self, block: str) -> Event | None:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            assert name in ("id", "event", "data", "retry")
            assert name not in fields
            fields[name] = value
        if "retry" in fields:
            self.retry.append(int(fields["retry"]))
        if "data" not in fields:
            return None
        return Event(fields["event"], fields.get("id"), msgspec.json.decode(fields["data"]))

    async def until(self, kind: str) -> list[Event]:
        """The events up to and including one of this type."""
        found: list[Event] = []
        while not found or found[-1].type != kind:
            event = await self.next()
            assert event is not None, found
            found.append(event)
        return found


async def follow(server: Served, *, last: str = "", origin: str = "", **query: Any) -> Source:
    """Open a stream."""
    stream = await trio.open_tcp_stream("127.0.0.1", server.port)
    header = f"last-event-id: {last}\r\n" if last else ""
    header += f"origin: {origin}\r\n" if origin else ""
    target = "/v1/events?" + urlencode({"station": "main", **query})
    await stream.send_all(f"GET {target} HTTP/1.1\r\nhost: localhost\r\n{header}\r\n".encode())
    data = b""
    with trio.fail_after(TIMEOUT_SECONDS):
        while b"\r\n\r\n" not in data:
            more = await stream.receive_some()
            assert more, data
            data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), data
    return Source(stream, head.decode().lower(), rest)


def log_events(log: FakeLog) -> list[tuple[str, str | None]]:
    return [(message.type, message.cursor) for message in log.whole()]


async def test_whole_game(server: Served) -> None:
    log = FakeLog(1, batches=20)
    game = server.stations[0].begin(log)
    source = await follow(server, cursor="start", delivery="lossless")
    async with source.stream:
        assert "content-type: text/event-stream" in source.head
        assert "cache-control: no-store" in source.head
        assert "connection: close" in source.head
        assert "content-security-policy" in source.head
        assert server.server.event_streams == 1
        assert server.server.websockets == 0
        server.stations[0].write_all(game)
        events = await source.until("metadata")
    station, *events = events
    assert (station.type, station.id, station.data["station"]) == ("station", None, "main")
    assert [(event.type, event.id) for event in events] == log_events(log)
    assert [event.data for event in events] == [msgspec.json.decode(m.json("main")) for m in log.whole()]
    assert source.retry == [2000]


async def test_reconnecting_client_gets_the_following_messages(server: Served) -> None:
    log = FakeLog(1, batches=20)
    server.stations[0].play(log)
    whole = log_events(log)
    for at in (0, 5, len(whole) - 2):
        last = whole[at][1] or ""
        source = await follow(server, last=last, cursor="live", delivery="lossless")
        async with source.stream:
            events = await source.until("metadata")
        assert [(e.type, e.id) for e in events if e.id] == whole[at + 1 :], "the header takes precedence over the query"
        source = await follow(server, cursor=last, delivery="lossless", topics="game,frame")
        async with source.stream:
            events = await source.until("metadata")
        wanted = [(t, c) for t, c in whole[at + 1 :] if t not in ("event", "stats")]
        assert [(e.type, e.id) for e in events if e.id] == wanted


async def test_snapshot_has_a_cursor_to_resume_from(server: Served) -> None:
    game = server.stations[0].begin(log := FakeLog(1, batches=20))
    server.stations[0].write(game, 10)
    source = await follow(server)
    async with source.stream:
        snapshot = (await source.until("snapshot"))[-1]
    server.stations[0].write_all(game)
    source = await follow(server, last=snapshot.id or "", delivery="lossless")
    async with source.stream:
        events = await source.until("metadata")
    written = [m for batch in log.batches[:10] for m in batch["live"]]
    assert [(e.type, e.id) for e in events if e.id] == log_events(log)[len(written) :]


async def test_refused_requests() -> None:
    async with served("main", "side") as server:
        for query, status in {
            "": 422, "topics=game": 422, "station=*": 422, "station=main,side": 422, "station=nope": 404,
            "station=main&topics=nope": 422, "station=main&cursor=nope": 422, "station=main&rate=0": 422,
            f"station=main&cursor={'0' * 32}/l5.0": 404,
            f"station=main&frames=finalized&cursor={'0' * 32}/l5.0": 422,
            "&".join(["station=main"] * 40): 422,
        }.items():  # fmt: skip
            answer = await server.ask(f"/v1/events?{query}")
            assert answer.problem["status"] == status, query
            assert answer.problem["detail"]
        assert (await server.ask("/v1/events?station=main", last_event_id="yesterday")).status == 422
        assert (await server.ask("/v1/events?station=main", "POST")).status == 405
        head = await server.ask("/v1/events?station=main", "HEAD")
        assert (head.status, head.headers["content-type"]) == (200, "text/event-stream")
        assert server.server.event_streams == 0


async def test_allowed_origins_can_read_with_the_token() -> None:
    page = "https://overlays.example"
    async with served(access=Access("secret", require_token=True, allowed_origins=(page,))) as server:
        source = await follow(server, origin=page, token="secret")
        async with source.stream:
            assert f"access-control-allow-origin: {page}\r\n" in source.head + "\r\n"
            assert (await source.until("station"))[-1].data["station"] == "main"


async def test_cursor_that_vanishes_later_is_reported(server: Served) -> None:
    log = FakeLog(1, batches=20)
    server.stations[0].archived(log)
    place = log_events(log)[3][1]
    original = server.hub.channels["main"].locate

    async def locate(game_id: str) -> Any:
        game = await original(game_id)
        server.stations[0].archive[0].gone = True
        return game

    server.hub.channels["main"].locate = locate  # type: ignore[method-assign]
    for file in server.stations[0].archive:
        file.gone = True
    source = await follow(server, cursor=place, delivery="lossless")
    async with source.stream:
        error = (await source.until("error"))[-1]
        assert error.data["code"] == 4410
        assert error.id is None
        assert await source.next() is None
    assert source.retry == [2000, 30_000], "browsers reconnect after a pause"


async def test_removed_station_ends_its_streams_and_websockets() -> None:
    async with (
        served("main", "side") as server,
        server.websocket("?station=main") as alone,
        server.websocket("?station=*") as everything,
    ):
        [main, side] = server.stations
        source, other = await follow(server), await follow(server, station="side")
        async with source.stream, other.stream:
            for stream in (source, other):
                await stream.until("station")
            main.channel.publish_state({"state": "offline", "reason": "removed"})
            server.hub.remove(main.channel)
            events = await source.until("error")
            assert (events[0].type, events[0].data["reason"]) == ("station", "removed")
            assert events[-1].data["code"] == 4404
            assert await source.next() is None
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    await alone.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4404
            side.play(FakeLog(2, batches=2))
            await other.until("metadata")
            while msgspec.json.decode(await everything.recv())["type"] != "metadata":
                pass


async def test_shutdown_ends_the_stream() -> None:
    async with served(grace_seconds=1.0) as server:
        game = server.stations[0].begin(FakeLog(1, batches=20))
        server.stations[0].write(game, 5)
        source = await follow(server, cursor="start", delivery="lossless")
        async with source.stream:
            await source.until("game_start")
            server.stop.set()
            while await source.next() is not None:
                pass
        with trio.fail_after(TIMEOUT_SECONDS):
            await server.stopped.wait()


async def test_departed_client_is_released(server: Served) -> None:
    source = await follow(server)
    await source.until("station")
    await source.stream.aclose()
    with trio.fail_after(TIMEOUT_SECONDS):
        while server.server.event_streams:
            await trio.sleep(0.01)
    assert server.stations[0].channel.subscribers == 0


async def test_slow_client_has_a_bounded_outbox_and_gets_lagged() -> None:
    async with served(outbox_bytes=20_000, socket_buffer_bytes=4096) as server:
        game = server.stations[0].begin(FakeLog(1, batches=6000, ended=False))
        server.stations[0].write(game, 1)
        source = await follow(server, topics="game,frame")
        async with source.stream:
            await source.until("snapshot")
            most = 0
            while server.stations[0].write(game, 50):
                await trio.sleep(0)
                most = max(most, server.server.queued_bytes)
            assert 0 < most <= 20_000 + 70_000, "a batch partly accepted by the socket, and the outbox"
            seen = await source.until("lagged")
            assert 0 < seen[-1].data["missed"] <= server.lagged


async def test_heartbeat_while_nothing_happens(server: Served, autojump_clock: MockClock) -> None:
    autojump_clock.autojump_threshold = 0.02
    source = await follow(server)
    async with source.stream:
        await source.until("station")
        received = b""
        with trio.fail_after(5 * events_module.HEARTBEAT_SECONDS):
            while len(received) < 6:
                received += await source.stream.receive_some()
        assert received == b":\n\n:\n\n"
        assert server.lagged == 0


async def test_encoding_of_events() -> None:
    encoding = ServerSentEventsEncoding()
    message = FakeLog(1, batches=1).whole()[0]
    assert encoding.log(message, "main") == b"id: %b\nevent: game_start\ndata: %b\n\n" % (
        (message.cursor or "").encode(),
        message.json("main"),
    )
    assert encoding.status({"type": "lagged", "missed": 3}) == b'event: lagged\ndata: {"type":"lagged","missed":3}\n\n'
