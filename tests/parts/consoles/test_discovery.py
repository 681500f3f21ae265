"""Each console that broadcasts becomes one station. Socket errors on Windows are survived."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
import trio
import trio.testing

from slpstream.config import Config, StationConfig
from slpstream.config.sections import Recordings
from slpstream.parts.consoles import discovery
from slpstream.parts.consoles.discovered import ConsoleDiscovery, Registry, station_of
from slpstream.parts.consoles.discovery import Call
from slpstream.parts.consoles.part import NetworkKeys, Relay
from slpstream.parts.consoles.stations import Consoles
from tests.daemons.hosts import host_of
from tests.parts.consoles.wii import Wii
from tests.ports import free_port
from tests.virtual_time import inline

pytestmark = pytest.mark.trio
TIMEOUT_SECONDS = 60.0


class FailingSocket:
    """Fails as Windows does after a datagram that could not be delivered, then receives a console's broadcast."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def recvfrom(self, max_bytes: int) -> tuple[bytes, tuple[str, int]]:
        if self.failures:
            self.failures -= 1
            raise ConnectionResetError(10054, "An existing connection was forcibly closed by the remote host")
        return b"SLIP_READY" + bytes(range(6)) + b"Wii".ljust(32, b"\0"), ("192.0.2.7", 50000)


async def test_errors_of_the_socket_are_waited_out(autojump_clock: trio.testing.MockClock) -> None:
    socket = cast(trio.socket.SocketType, FailingSocket(failures=30))
    began = trio.current_time()
    call = await discovery.next_call(socket)
    assert (call.nick, call.mac, call.host) == ("Wii", "00:01:02:03:04:05", "192.0.2.7")
    assert trio.current_time() - began >= 1, "an error that stays must not take all of the processor"


async def test_port_is_shared_where_trio_leaves_out_the_constant_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`trio.socket` has no SO_REUSEADDR on Windows, because it means something else for servers there."""
    monkeypatch.delattr(trio.socket, "SO_REUSEADDR", raising=False)
    first = await discovery.hear("127.0.0.1", 0)
    with first:
        port = first.getsockname()[1]
        with await discovery.hear("127.0.0.1", port) as second:
            assert second.getsockname()[1] == port


MAC = bytes(range(1, 7))


def datagram(nick: bytes) -> bytes:
    return b"SLIP_READY" + MAC + nick.ljust(32, b"\0")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (datagram(b"Setup 7"), Call("Setup 7", "01:02:03:04:05:06", "10.0.0.9")),
        (datagram("Größe".encode()), Call("Größe", "01:02:03:04:05:06", "10.0.0.9")),
        (b"SLIP_READY" + MAC, Call("", "01:02:03:04:05:06", "10.0.0.9")),
        (datagram(b"\xff" * 32), Call("\ufffd" * 32, "01:02:03:04:05:06", "10.0.0.9")),
        (datagram(b"x" * 32) + b"more", Call("x" * 32, "01:02:03:04:05:06", "10.0.0.9")),
        (b"SLIP_READY\x01", None),
        (b"SLIP_BUSY!" + MAC, None),
        (b"", None),
    ],
)
async def test_broadcast_datagrams(data: bytes, expected: Call | None) -> None:
    assert discovery.read_call(data, "10.0.0.9") == expected


@pytest.mark.parametrize(
    ("nick", "taken", "station"),
    [
        ("Setup 7", [], "Setup-7"),
        ("Setup 7", ["Setup-7", "Setup-7-2"], "Setup-7-3"),
        ("***", [], "wii-040506"),
        ("Größe", [], "Gr-e"),
        (".hidden", [], "hidden"),
    ],
)
async def test_names_of_discovered_stations(nick: str, taken: list[str], station: str) -> None:
    config = station_of(Call(nick, "01:02:03:04:05:06", "10.0.0.9"), taken)
    assert (config.id, config.keys(NetworkKeys).console, config.name) == (station, "10.0.0.9", nick)


async def test_number_of_discovered_stations_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    stations: list[StationConfig] = []
    calls = [Call("Wii", f"00:00:00:00:00:{i:02x}", f"10.0.0.{i}") for i in range(70)]
    all_received = trio.Event()

    async def next_of_calls(socket: object) -> Call:
        if not calls:
            all_received.set()
            await trio.sleep_forever()
        return calls.pop(0)

    async def add(config: StationConfig) -> None:
        stations.append(config)

    async def remove(station: str, reason: str) -> None:
        raise AssertionError(reason)

    monkeypatch.setattr(discovery, "next_call", next_of_calls)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            relay = Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=free_port())
            registry = Registry(lambda: stations, lambda: [each.id for each in stations], set, add, remove)
            nursery.start_soon(ConsoleDiscovery(relay, registry).run)
            await all_received.wait()
            assert [station.id for station in stations] == ["Wii", *(f"Wii-{i}" for i in range(2, 65))]
            nursery.cancel_scope.cancel()


REAL = "10.0.9.9"


class Announced:
    """The stations for announcements that a test sends. Only `REAL` is the address of a console."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, *configured: StationConfig) -> None:
        self.configured = list(configured)
        self.running: dict[str, tuple[StationConfig, trio.CancelScope]] = {}
        self._send, self._receive = trio.open_memory_channel[Call](1000)
        self._nursery: trio.Nursery | None = None
        self._relay = Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=free_port())
        config = Config(recordings=Recordings(folder=str(folder)), parts={"relay": [self._relay]})
        self._consoles = Consoles(host_of(config))
        self.wii = Wii(2, nick="Real")
        monkeypatch.setattr(discovery, "next_call", self._next_call)
        monkeypatch.setattr(trio, "open_tcp_stream", self._connect)

    async def _next_call(self, _: object) -> Call:
        return await self._receive.receive()

    async def _connect(self, host: str, port: int) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        assert host == REAL
        assert self._nursery is not None
        ours, theirs = trio.testing.memory_stream_pair()
        self._nursery.start_soon(self.wii.serve, theirs)
        return ours

    def call(self, number: int, host: str = "") -> None:
        """A console announces itself."""
        mac = f"00:00:00:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
        self._send.send_nowait(Call("Wii", mac, host or f"10.0.{number >> 8 & 255}.{number & 255}"))

    @property
    def hosts(self) -> list[str]:
        """The addresses of the consoles that have a station."""
        return [config.keys(NetworkKeys).console for config, _ in self.running.values()]

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery

            async def add(config: StationConfig) -> None:
                await trio.lowlevel.checkpoint()
                scope = trio.CancelScope()
                self.running[config.id] = config, scope

                async def follow() -> None:
                    with scope:
                        async with trio.open_nursery() as own:
                            station = MagicMock(id=config.id)
                            running: Any = SimpleNamespace(config=config, station=station, nursery=own)
                            if config.keys(NetworkKeys).console == REAL:
                                self._consoles.station_starts(running)
                            await trio.sleep_forever()

                nursery.start_soon(follow)

            async def remove(station: str, reason: str) -> None:
                await trio.lowlevel.checkpoint()
                self.running.pop(station)[1].cancel()

            def known() -> list[StationConfig]:
                return [*self.configured, *(config for config, _ in self.running.values())]

            registry = Registry(known, lambda: list(self.running), self._consoles.answered, add, remove)
            await ConsoleDiscovery(self._relay, registry).run()


@pytest.mark.slow
async def test_forged_announcements_keep_no_real_console_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(trio.to_thread, "run_sync", inline)
    mine = StationConfig(id="mine", parts=(NetworkKeys(console="10.0.0.200"),))
    here = Announced(tmp_path, monkeypatch, mine)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(here.run)
        for number in range(64):
            here.call(number)
        here.call(200)
        await trio.sleep(12)
        assert len(here.running) == 64
        assert "10.0.0.200" not in here.hosts, "it is configured"
        here.call(1000, REAL)
        await trio.sleep(1)
        assert REAL in here.hosts
        for more in range(2):
            await trio.sleep(15)
            for number in range(64):
                here.call(2000 + 100 * more + number)
        await trio.sleep(1)
        assert REAL in here.hosts, "a console that has answered keeps its station"
        assert len(here.running) == 64
        await trio.sleep(200)
        assert here.hosts == [REAL], "places expire"
        nursery.cancel_scope.cancel()
