"""A station served to spectators: messages, history, late, slow and returning clients, over a network in memory.

Determinism: trio's clock jumps, datagrams go through lists, and files grow when a test asks for it.
"""

from __future__ import annotations

import base64
import itertools
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from slpstream.config import StationConfig
from slpstream.formats.slippi.framing import event_payloads_at
from slpstream.parts.consoles.event_framer import GameBegan, GameFramer
from slpstream.parts.consoles.feed import RelayFeed
from slpstream.parts.consoles.part import NetworkKeys
from slpstream.parts.consoles.spectators import messages
from slpstream.parts.consoles.spectators.enet import MAX_QUEUED_BYTES, Address, Peer
from slpstream.parts.consoles.spectators.history import SpectatorHistory
from slpstream.parts.consoles.spectators.messages import EventBatches, read_request
from slpstream.parts.consoles.spectators.server import REQUEST_SECONDS, SpectatorServer, open_socket
from tests.daemons.station import until
from tests.formats.slippi.built import Built
from tests.parts.consoles.daemons import daemon_of
from tests.parts.consoles.relays import GrowingFile
from tests.parts.consoles.spectators.enet_client import EnetClient
from tests.parts.consoles.wii import raw_of
from tests.ports import free_port
from tests.synthetic.match import synthetic_match

ONE = Built().frames(-123, 0).end().closed()
TWO = synthetic_match(seed=4, frames=200, gecko=True, rollbacks=True)
OLD = synthetic_match(seed=5, frames=100, version=(2, 0, 0))
FIRST = 1000
"""The first cursor of the histories here."""


def head_of(raw: bytes) -> bytes:
    [began] = [output for output in GameFramer().feed(raw) if isinstance(output, GameBegan)]
    return began.head


def widths_of(raw: bytes) -> Sequence[int]:
    """The sizes of the events of a game, by command."""
    found = event_payloads_at(raw, 0, 0)
    assert found is not None
    return found[0].widths


def batches_of(raw: bytes, *sizes: int) -> list[bytes]:
    """The batches of a game, fed in slices of these sizes, repeatedly."""
    batches = EventBatches(head_of(raw))
    ends = [0]
    start = 0
    while start < len(raw):
        size = sizes[start % len(sizes)]
        ends += batches.feed(raw[start : start + size])
        start += size
    ends += batches.rest()
    return [raw[start:end] for start, end in itertools.pairwise(ends)]


@pytest.mark.parametrize("game", [ONE, TWO, OLD], ids=["one", "two", "old"])
def test_batches_are_those_of_dolphin(game: bytes) -> None:
    raw = raw_of(game)
    batches = batches_of(raw, len(raw))
    assert b"".join(batches) == raw
    assert batches[0] == head_of(raw)
    assert batches[-1][-1:] == raw[-1:]
    frames = [batch for batch in batches if b"\x38" in (batch[:1], batch[8:9]) or len(batch) > 20]
    assert len(frames) > 80
    assert batches_of(raw, 1) == batches
    assert batches_of(raw, 700, 13, 4096, 5) == batches


def test_batch_has_one_frame() -> None:
    """No batch has events of two frames, with bookends or without."""
    for game in (TWO, OLD):
        widths = widths_of(raw_of(game))
        for batch in batches_of(raw_of(game), 9999)[1:]:
            at, numbers = 0, set()
            while at < len(batch):
                if batch[at] in (0x37, 0x38, 0x3A, 0x3C):
                    numbers.add(batch[at + 1 : at + 5])
                at += widths[batch[at]]
            assert len(numbers) <= 1


def test_undeclared_event_ends_the_batches() -> None:
    raw = raw_of(ONE)
    head = head_of(raw)
    batches = EventBatches(head)
    assert batches.feed(head + b"\xee" * 100) == [len(head)]
    assert batches.ended
    assert batches.feed(b"\xee" * 100) == []


def test_game_without_bookends_or_frames_is_divided() -> None:
    """A broken source cannot make a batch grow without limit."""
    raw = raw_of(ONE)
    head = head_of(raw)
    batches = EventBatches(head)
    frame = raw[len(head) :]
    pre = frame[frame.index(b"\x37") :][: widths_of(raw)[0x37]]
    ends = batches.feed(head + pre * 5000)
    assert max(b - a for a, b in itertools.pairwise(ends)) < 33_000


@pytest.mark.parametrize(
    ("packet", "cursor"),
    [
        (b'{"type":"connect_request","cursor":0}', 0),
        (b'{"type": "connect_request", "cursor": 77, "more": [{}]}', 77),
        (b'{"type":"connect_request","cursor":-5}', -5),
        (b'{"type":"connect_request","cursor":"0"}', None),
        (b'{"type":"connect_request"}', None),
        (b'{"type":"disconnect","cursor":0}', None),
        (b"", None),
        (b"\xff\xfe", None),
        (b"[" * 1000, None),
        (b'{"type":"connect_request","cursor":0,"x":' + b"[" * 900, None),
        (b'{"type":"connect_request","cursor":0}' + b" " * 5000, None),
    ],
)
def test_requests(packet: bytes, cursor: int | None) -> None:
    assert read_request(packet) == cursor


class Network:
    """Sockets in memory. Datagrams arrive immediately, or are lost."""

    def __init__(self, lost: float = 0.0) -> None:
        self.rng = random.Random(2)
        self.lost = lost
        self.clients: dict[Address, Client] = {}
        self._to_server, self._inbox = trio.open_memory_channel[tuple[bytes, Address]](1000)

    async def recvfrom(self, bufsize: int) -> tuple[bytes, Address]:
        return await self._inbox.receive()

    async def sendto(self, data: bytes, address: Address) -> int:
        await trio.lowlevel.checkpoint()
        client = self.clients.get(address)
        if client is not None and self.rng.random() >= self.lost:
            client.take(data)
        return len(data)

    def to_server(self, data: bytes, address: Address) -> None:
        if self.rng.random() >= self.lost:
            self._to_server.send_nowait((data, address))


class Client:
    """A spectator. It reads while `reading` is set."""

    def __init__(self, network: Network, address: Address, request: object) -> None:
        self.enet = EnetClient()
        self.enet.send(json.dumps(request).encode())
        self.reading = True
        self._network, self._address = network, address
        self._waiting: list[bytes] = []
        network.clients[address] = self

    def take(self, data: bytes) -> None:
        if self.reading:
            self.enet.receive(data)

    async def run(self) -> None:
        while not self.enet.disconnected:
            for data in self.enet.send_due(trio.current_time()):
                self._network.to_server(data, self._address)
            await trio.sleep(0.01)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(packet) for packet in self.enet.packets]

    @property
    def data(self) -> bytes:
        """All events so far."""
        return b"".join(base64.b64decode(m["payload"]) for m in self.messages if m["type"] == "game_event")

    def check_cursors(self) -> None:
        """Each message begins where the previous one ended, as slippi-js requires."""
        reply, *rest = self.messages
        assert reply["type"] == "connect_reply"
        cursor = reply["cursor"]
        for message in rest:
            assert (message["cursor"], message["next_cursor"]) == (cursor, cursor + 1)
            cursor += 1


class Station:
    """A feed with growing files, and its spectators' server."""

    def __init__(self, folder: Path, nursery: trio.Nursery, network: Network, max_clients: int, **options: Any) -> None:
        async def read(path: Path, offset: int, max_bytes: int) -> bytes:
            await trio.lowlevel.checkpoint()
            with path.open("rb") as file:
                file.seek(offset)
                return file.read(max_bytes)

        self.folder = folder
        self.feed = RelayFeed(read)
        self.history = SpectatorHistory(self.feed, FIRST)
        self.resent = 0
        self.server = SpectatorServer(self.history, "Station 7", max_clients, count_resent=self._count, **options)
        self.network = network
        self.scope = trio.CancelScope()
        self._nursery = nursery
        self._files = 0
        nursery.start_soon(self.history.run)
        nursery.start_soon(self._serve)

    async def _serve(self) -> None:
        with self.scope:
            await self.server.run(self.network)

    def _count(self, packets: int) -> None:
        self.resent += packets

    def file(self) -> GrowingFile:
        self._files += 1
        return GrowingFile(self.folder / f"{self._files}.slp", self.feed)

    def client(self, port: int = 1, cursor: int = 0, *, asks: bool = True) -> Client:
        request = {"type": "connect_request", "cursor": cursor} if asks else {}
        client = Client(self.network, ("10.0.0.9", port), request)
        self._nursery.start_soon(client.run)
        return client


@asynccontextmanager
async def serving(folder: Path, lost: float = 0.0, max_clients: int = 4, **options: Any) -> AsyncIterator[Station]:
    async with trio.open_nursery() as nursery:
        yield Station(folder, nursery, Network(lost), max_clients, **options)
        nursery.cancel_scope.cancel()


async def seen(condition: Any) -> None:
    with trio.fail_after(60.0):
        while not condition():
            await trio.sleep(0.05)


@pytest.mark.trio
@pytest.mark.parametrize("lost", [0.0, 0.2])
async def test_games_arrive_as_dolphin_sends_them(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, lost: float
) -> None:
    """A client joins in mid-game and stays for the next; one that joins at the end waits for the next."""
    async with serving(tmp_path, lost) as station:
        file = station.file()
        file.grow(ONE[:9000])
        client = station.client()
        await seen(lambda: len(client.data) > 8000)
        file.grow(ONE[9000:])
        await seen(lambda: client.data == raw_of(ONE))
        await seen(lambda: client.messages[-1]["type"] == "end_game")
        late = station.client(port=2)
        await seen(lambda: late.messages)
        for game in (TWO, OLD):
            file = station.file()
            for start in range(0, len(game), 5000):
                file.grow(game[start : start + 5000])
                await trio.sleep(0.02)
        await seen(lambda: client.data == raw_of(ONE) + raw_of(TWO) + raw_of(OLD))
        await seen(lambda: late.data == raw_of(TWO) + raw_of(OLD))
        await seen(lambda: [c.messages[-1]["type"] for c in (client, late)] == ["end_game"] * 2)
        for one in (client, late):
            one.check_cursors()
            kinds = [m["type"] for m in one.messages if m["type"] != "game_event"]
            assert kinds == ["connect_reply", *["start_game", "end_game"] * (3 if one is client else 2)]
        assert client.messages[0] == {
            "type": "connect_reply",
            "nick": "Station 7",
            "version": messages.VERSION,
            "cursor": FIRST,
        }
        assert client.messages[-1]["dolphin_closed"] is False
        assert (station.resent > 0) == (lost > 0)


@pytest.mark.trio
async def test_returning_client_continues_at_its_cursor(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """Also in a game that has ended in the meantime. A cursor of another run starts the game in progress."""
    async with serving(tmp_path, max_clients=8) as station:
        file = station.file()
        file.grow(ONE[:9000])
        client = station.client()
        await seen(lambda: len(client.data) > 8000)
        client.reading = False
        file.grow(ONE[9000:])
        next_file = station.file()
        next_file.grow(TWO[:9000])
        again = station.client(port=2, cursor=client.messages[-1]["next_cursor"])
        await seen(lambda: len(client.data + again.data) > len(raw_of(ONE)) + 8000)
        next_file.grow(TWO[9000:])
        await seen(lambda: client.data + again.data == raw_of(ONE) + raw_of(TWO))
        again.check_cursors()
        for i, cursor in enumerate((FIRST - 1, 10**9, -5)):
            other = station.client(port=3 + i, cursor=cursor)
            await seen(lambda other=other: other.messages)
            assert other.messages[0]["cursor"] == station.history.end_cursor


@pytest.mark.trio
async def test_slow_client_delays_no_other(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds a bounded part of the game, and gets the rest from the file later."""
    queued: list[int] = []
    send = Peer.send

    def record(peer: Peer, data: bytes) -> None:
        send(peer, data)
        queued.append(peer.queued_bytes)

    monkeypatch.setattr(Peer, "send", record)
    long = Built().frames(-123, 4000).end().closed()
    async with serving(tmp_path) as station:
        file = station.file()
        file.grow(long[:2000])
        slow, quick = station.client(port=1), station.client(port=2)
        await seen(lambda: slow.messages and quick.messages)
        slow.reading = False
        for start in range(2000, len(long), 50_000):
            file.grow(long[start : start + 50_000])
            await trio.sleep(0.1)
        await seen(lambda: quick.data == raw_of(long))
        assert max(queued) < MAX_QUEUED_BYTES + 40_000
        assert slow.data != raw_of(long)
        slow.reading = True
        await seen(lambda: slow.data == raw_of(long))
        slow.check_cursors()


@pytest.mark.trio
async def test_unavailable_bytes_are_a_jump_of_the_cursor(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """The file is gone, and the client is so slow that the bytes are no longer in memory either."""
    long = Built().frames(-123, 4000).end().closed()
    async with serving(tmp_path) as station:
        file = station.file()
        file.grow(long[:2000])
        client = station.client()
        await seen(lambda: client.messages)
        client.reading = False
        for start in range(2000, len(long) - 5000, 50_000):
            file.grow(long[start : min(start + 50_000, len(long) - 5000)])
            await trio.sleep(0.1)
        file.path.unlink()
        client.reading = True
        await trio.sleep(10)
        file.grow(long[-5000:], to_disk=False)
        await seen(lambda: client.messages[-1]["type"] == "end_game")
        cursors = [message["cursor"] for message in client.messages[1:]]
        jumps = [b - a for a, b in itertools.pairwise(cursors) if b != a + 1]
        assert len(jumps) == 1
        assert raw_of(long).endswith(client.data[-3000:])


@pytest.mark.trio
async def test_client_without_a_request_is_dropped(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path, max_clients=1) as station:
        client = station.client(asks=False)
        await seen(lambda: station.server.clients == 1)
        began = trio.current_time()
        with capture_logs() as logs:
            refused = station.client(port=2)
            await seen(lambda: client.enet.disconnected)
        assert trio.current_time() - began == pytest.approx(REQUEST_SECONDS, abs=0.2)
        assert next((line["event"], line.get("what")) for line in logs) == ("relay client refused", None)
        assert ("relay client refused", "no request") in [(line["event"], line.get("what")) for line in logs]
        await seen(lambda: refused.messages)
        assert station.server.clients == 1, "the place is free again"


@pytest.mark.trio
async def test_shutdown_notifies_clients(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as station:
        client = station.client()
        await seen(lambda: client.messages)
        station.scope.cancel()
        await seen(lambda: client.enet.disconnected)
        assert station.server.clients == 0


@pytest.mark.trio
async def test_bug_in_one_client_ends_no_other(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    class Contained:
        def __enter__(self) -> None: ...

        def __exit__(self, kind: object, error: object, traceback: object) -> bool:
            return isinstance(error, ZeroDivisionError)

    async with serving(tmp_path, contain=Contained) as station:
        client = station.client()
        await seen(lambda: client.messages)
        read = station.history.read
        station.history.read = _fail  # type: ignore[method-assign]
        broken = station.client(port=2)
        await seen(lambda: broken.enet.disconnected)
        station.history.read = read  # type: ignore[method-assign]
        station.file().grow(ONE)
        await seen(lambda: client.data == raw_of(ONE))


async def _fail(cursor: int) -> tuple[list[bytes], int]:
    raise ZeroDivisionError


@pytest.mark.trio
async def test_history_keeps_few_games(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    async with serving(tmp_path) as station:
        began: list[int] = []
        for seed in range(8):
            began.append(station.history.end_cursor)
            station.file().grow(Built(random_seed=seed).frames(-123, -100).end().closed())
            await trio.sleep(1)
        assert [station.history.has(cursor) for cursor in began] == [False] * 4 + [True] * 4
        read, cursor = await station.history.read(began[4])
        assert json.loads(read[0])["type"] == "start_game"
        assert cursor > began[4]


@pytest.mark.trio
@pytest.mark.parametrize(("host", "bound"), [("", "0.0.0.0"), ("::", "0.0.0.0"), ("localhost", "127.0.0.1")])
async def test_sockets_are_ipv4_where_possible(host: str, bound: str) -> None:
    with await open_socket(host, 0) as opened:
        assert opened.getsockname()[0] == bound


@pytest.mark.trio
async def test_daemon_serves_spectators_and_consoles(tmp_path: Path) -> None:
    """One number can be a TCP port and a UDP port; both are counted as clients of the station."""
    folder = tmp_path / "replays"
    folder.mkdir()
    port = free_port()
    config = StationConfig(id="main", folder=str(folder), parts=(NetworkKeys(relay_port=port, relay_enet_port=port),))
    with trio.fail_after(60):
        async with daemon_of(tmp_path, config) as daemon:
            await until(
                lambda: 'slpstream_relay_clients{station="main"} 0.0' in daemon.served.render_metrics().decode()
            )
            enet = EnetClient()
            enet.send(b'{"type":"connect_request","cursor":0}')
            client = trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM)
            with client:
                while not enet.packets:
                    for data in enet.send_due(trio.current_time()):
                        await client.sendto(data, ("127.0.0.1", port))
                    with trio.move_on_after(0.05):
                        enet.receive((await client.recvfrom(5000))[0])
                assert json.loads(enet.packets[0])["nick"] == "main"
                async with await trio.open_tcp_stream("127.0.0.1", port):
                    await until(
                        lambda: 'slpstream_relay_clients{station="main"} 2.0' in daemon.served.render_metrics().decode()
                    )
                assert 'slpstream_relay_resent_packets_total{station="main"}' in daemon.served.render_metrics().decode()
