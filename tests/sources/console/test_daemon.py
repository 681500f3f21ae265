"""A whole daemon: a console on TCP is recorded, streamed and served again, and consoles that broadcast become stations.

Determinism: free ports of 127.0.0.1, a separate state folder, and `fail_after` as the only timeout.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing

from slpstream.api import messages
from slpstream.config import Config, Recordings, Relay, Server, StationConfig, Store
from slpstream.daemon.consoles import Consoles, check_sources, station_of
from slpstream.daemon.daemon import Daemon
from slpstream.model.errors import ConfigError
from slpstream.model.messages import START
from slpstream.sources.console.discovery import Call, hear, next_call, read_call
from slpstream.sources.console.session import ConsoleSession
from slpstream.system.metrics import Metrics
from tests.formats.slippi.built import Built
from tests.sources.console.test_server import receive
from tests.sources.console.wii import Wii, raw_of

ONE = Built().frames(-123, 60).end().closed()
TIMEOUT_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await trio.sleep(0.01)


@asynccontextmanager
async def wii_on_tcp(wii: Wii) -> AsyncIterator[int]:
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, wii.serve, listeners)
        yield listeners[0].socket.getsockname()[1]
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def daemon_of(tmp_path: Path, *stations: StationConfig, relay: Relay | None = None) -> AsyncIterator[Daemon]:
    config = Config(
        relay=relay or Relay(),
        server=Server(port=0),
        store=Store(folder=str(tmp_path / "state"), index_old_files=False),
        recordings=Recordings(folder=str(tmp_path / "recordings")),
    )
    daemon = Daemon(config, list(stations), strict=True)
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
        yield daemon
        daemon.stop()


@pytest.mark.trio
async def test_console_is_recorded_streamed_and_served(tmp_path: Path) -> None:
    raw = raw_of(ONE)
    wii = Wii(2, nick="Setup 7")
    wii.break_probability = 0.1
    relay_port = free_port()
    with trio.fail_after(TIMEOUT_SECONDS):
        async with wii_on_tcp(wii) as port:
            config = StationConfig(id="wii", console=f"127.0.0.1:{port}", relay_port=relay_port)
            async with daemon_of(tmp_path, config) as daemon:
                channel = daemon.hub.channels["wii"]
                wii.begin_game()
                wii.write(raw[:20_000])
                await until(lambda: channel.current is not None)
                session = ConsoleSession()
                async with await trio.open_tcp_stream("127.0.0.1", relay_port) as stream:
                    await stream.send_all(session.connect())
                    wii.write(raw[20_000:])
                    wii.end_game()
                    data, _ = await receive(stream, session, len(raw))
                assert data == raw
                game = channel.current
                assert game is not None
                await until(lambda: [m.type for m in game.logs["live"].since(START) or []][-1:] == ["metadata"])
                all_written = 'slpstream_unwritten_bytes{station="wii"} 0.0'
                await until(lambda: all_written in daemon.render_metrics().decode())
                [path] = (tmp_path / "recordings" / "wii").glob("*.slp")
                assert raw_of(path.read_bytes()) == raw
                log = game.logs["live"].since(START) or []
                assert [m.json() for m in log] == [m.json() for m in messages(path)]
                [described] = daemon.stations()
                assert described["state"] == "idle"
                assert 'slpstream_relay_clients{station="wii"}' in daemon.render_metrics().decode()


@pytest.mark.trio
async def test_recorded_game_shows_its_setup_but_no_clock(tmp_path: Path) -> None:
    wii = Wii(2, nick="Setup 7")
    with trio.fail_after(TIMEOUT_SECONDS):
        async with (
            wii_on_tcp(wii) as port,
            daemon_of(tmp_path, StationConfig(id="wii", console=f"127.0.0.1:{port}")) as daemon,
        ):
            channel = daemon.hub.channels["wii"]
            wii.begin_game()
            wii.write(raw_of(ONE)[:20_000])
            await until(lambda: channel.current is not None)
            wii.write(raw_of(ONE)[20_000:])
            wii.end_game()
            await until(lambda: channel.current is not None and channel.current.ended)
            index, setups = daemon._index, daemon._audit
            assert index is not None
            assert setups is not None
            await index.written()
            [game] = await index.played_on("wii", 5)
            assert game.arrived_at_ms is not None
            [setup] = (await setups.audit()).setups
            assert setup.games == 1
            assert "clock" not in {value.name for value in setup.values}


@pytest.mark.trio
async def test_unreachable_console_is_offline(tmp_path: Path) -> None:
    config = StationConfig(id="wii", console=f"127.0.0.1:{free_port()}")
    with trio.fail_after(TIMEOUT_SECONDS):
        async with daemon_of(tmp_path, config) as daemon:
            await until(lambda: "cannot be reached" in daemon.stations()[0]["reason"])
            assert daemon.stations()[0]["state"] == "offline"
            assert daemon.not_ready() == [f"station wii: {daemon.stations()[0]['reason']}"]


@pytest.mark.trio
async def test_relay_port_is_retried_until_it_is_free(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    autojump_clock.autojump_threshold = 0.05
    consoles = Consoles(Relay(), Recordings(), tmp_path, Metrics())
    served = trio.Event()

    async def handler(stream: trio.SocketStream) -> None:
        served.set()

    async with trio.open_nursery() as nursery:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            nursery.start_soon(consoles._listen, port, handler)
            await trio.sleep(12)
        await trio.sleep(12)
        async with await trio.open_tcp_stream("127.0.0.1", port):
            await served.wait()
        nursery.cancel_scope.cancel()


def test_missing_enet_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"stations\[1\]\.dolphin: needs ENet"):
        check_sources([StationConfig(id="a", folder="/a"), StationConfig(id="b", dolphin="pc")])


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
def test_broadcast_datagrams(data: bytes, expected: Call | None) -> None:
    assert read_call(data, "10.0.0.9") == expected


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
def test_names_of_discovered_stations(nick: str, taken: list[str], station: str) -> None:
    config = station_of(Call(nick, "01:02:03:04:05:06", "10.0.0.9"), taken)
    assert (config.id, config.console, config.name) == (station, "10.0.0.9", nick)


@pytest.mark.trio
async def test_broadcasts_are_received() -> None:
    with trio.fail_after(TIMEOUT_SECONDS):
        receiver = await hear("127.0.0.1", 0)
        with receiver, trio.socket.socket(type=trio.socket.SOCK_DGRAM) as sender:
            for data in (b"noise", datagram(b"one"), b"\0" * 1000, datagram(b"two")):
                await sender.sendto(data, receiver.getsockname())
            calls = [await next_call(receiver), await next_call(receiver)]
    assert [(call.nick, call.host) for call in calls] == [("one", "127.0.0.1"), ("two", "127.0.0.1")]


@pytest.mark.trio
async def test_each_discovered_console_becomes_one_station(tmp_path: Path) -> None:
    """Consoles that are stations already are left out."""
    port = free_port()
    relay = Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=port)
    consoles = Consoles(relay, Recordings(), tmp_path, Metrics())
    stations = [StationConfig(id="Setup-7", folder="/somewhere")]

    async def add(config: StationConfig) -> None:
        stations.append(config)

    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(consoles.discover, lambda: stations, add)
            with trio.socket.socket(type=trio.socket.SOCK_DGRAM) as sender:
                while len(stations) < 2:
                    await sender.sendto(datagram(b"Setup 7"), ("127.0.0.1", port))
                    await trio.sleep(0.02)
                other = b"SLIP_READY" + bytes(6) + b"Other"
                for _ in range(5):
                    await sender.sendto(other, ("127.0.0.1", port))
                    await trio.sleep(0.02)
            nursery.cancel_scope.cancel()
    assert stations[1:] == [StationConfig(id="Setup-7-2", console="127.0.0.1", name="Setup 7")]


@pytest.mark.trio
async def test_number_of_discovered_stations_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.daemon.consoles._MAX_DISCOVERED", 2)
    port = free_port()
    consoles = Consoles(
        Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=port), Recordings(), tmp_path, Metrics()
    )
    stations: list[StationConfig] = []
    calls: list[Call] = [Call("Wii", f"00:00:00:00:00:0{i}", f"10.0.0.{i}") for i in range(5)]
    all_received = trio.Event()

    async def next_of_calls(socket: object) -> Call:
        if not calls:
            all_received.set()
            await trio.sleep_forever()
        return calls.pop(0)

    async def add(config: StationConfig) -> None:
        stations.append(config)

    monkeypatch.setattr("slpstream.daemon.consoles.discovery.next_call", next_of_calls)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(consoles.discover, lambda: stations, add)
            await all_received.wait()
            assert [station.id for station in stations] == ["Wii", "Wii-2"]
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_discovered_console_that_does_not_answer(tmp_path: Path) -> None:
    """It becomes a station that is offline."""
    port = free_port()
    relay = Relay(discovery=True, discovery_host="127.0.0.1", discovery_port=port)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with daemon_of(tmp_path, relay=relay) as daemon:
            with trio.socket.socket(type=trio.socket.SOCK_DGRAM) as sender:
                while not daemon.stations():
                    await sender.sendto(datagram(b"Setup 7"), ("127.0.0.1", port))
                    await trio.sleep(0.02)
            await until(lambda: "cannot be reached" in daemon.stations()[0]["reason"])
            [station] = daemon.stations()
            assert (station["id"], station["name"], station["state"]) == ("Setup-7", "Setup 7", "offline")
            await daemon.running.remove("Setup-7")
            assert not daemon.stations()


@pytest.mark.trio
async def test_discovered_console_that_is_configured_later_has_one_station(tmp_path: Path) -> None:
    """A console accepts only one client."""
    with trio.fail_after(TIMEOUT_SECONDS):
        async with daemon_of(tmp_path) as daemon:
            for host in ("127.0.0.1", "127.0.0.2"):
                assert await daemon.running.add(StationConfig(id=f"found-{host[-1]}", console=host))
            mine = StationConfig(id="mine", console=f"localhost:{free_port()}")
            again = msgspec.structs.replace(daemon._config, stations=[mine])
            daemon._read_again = lambda: (again, [mine])
            await daemon.reload()
            assert set(daemon.running) == {"found-2", "mine"}
