"""Consoles that broadcast become stations, each one once; and the errors that Windows reports on the socket."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from slpstream.config import Recordings, Relay, StationConfig
from slpstream.daemon.consoles import Consoles, station_of
from slpstream.sources.console import discovery
from slpstream.sources.console.discovery import Call
from slpstream.system.metrics import Metrics
from tests.sources.console.daemons import free_port

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
    assert (config.id, config.console, config.name) == (station, "10.0.0.9", nick)


async def test_number_of_discovered_stations_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    consoles = Consoles(
        Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=port), Recordings(), tmp_path, Metrics()
    )
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

    monkeypatch.setattr(discovery, "next_call", next_of_calls)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(consoles.discover, lambda: stations, add)
            await all_received.wait()
            assert [station.id for station in stations] == ["Wii", *(f"Wii-{i}" for i in range(2, 65))]
            nursery.cancel_scope.cancel()
