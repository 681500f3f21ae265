"""Announcements of the daemon by DNS-SD and by console broadcasts. All traffic stays on loopback."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from slpstream import config as configuration
from slpstream.config import Config
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.parts.announce.dns_sd import DnsSd
from slpstream.parts.announce.part import Announce
from slpstream.parts.announce.relay_call import CALL_SECONDS, RelayCall
from slpstream.parts.consoles import discovery
from tests.daemons.hosts import parts_of
from tests.daemons.process import DEADLINE_SECONDS, configured
from tests.ports import free_port


@pytest.mark.slow
def test_daemon_is_found_by_dns_sd_and_withdrawn_when_it_stops(tmp_path: Path) -> None:
    zeroconf = pytest.importorskip("zeroconf", reason="zeroconf is not installed (extra `announce`)")
    name = f"Hall 3 {os.getpid()}"
    service = f"{name}._slpstream._tcp.local."
    text = f"[announce]\ndns_sd = true\nname = '{name}'\n"
    stations = [f"[[stations]]\nid = '{each}'\nfolder = '{tmp_path / each}'\n" for each in ("main", "second")]
    for each in ("main", "second"):
        (tmp_path / each).mkdir()
    # In a thread, because it refuses to wait in one with an event loop, which the tests of pages may have left here.
    with ThreadPoolExecutor(1) as thread, thread.submit(zeroconf.Zeroconf, ["127.0.0.1"]).result() as browser:

        def announced() -> Any:
            """The current announcement, read from the network and not from a cache."""
            return thread.submit(browser.get_service_info, "_slpstream._tcp.local.", service, timeout=500).result()

        def facts() -> dict[str, str]:
            found = announced()
            return {} if found is None else {key.decode(): value.decode() for key, value in found.properties.items()}

        with configured(tmp_path, text + stations[0]) as daemon:
            daemon.until(facts)
            found = announced()
            assert found is not None
            assert found.port == int(daemon.url.rpartition(":")[2])
            assert found.parsed_addresses() == ["127.0.0.1"]
            assert facts().keys() == {"version", "path", "stations", "token"}
            assert (facts()["path"], facts()["stations"], facts()["token"]) == ("/", "1", "none")
            (tmp_path / "slpstream.toml").write_text(text + "".join(stations))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.until(lambda: facts().get("stations") == "2")
            (tmp_path / "token").write_text("secret\n")
            token = f"[server]\nrequire_token = true\ntoken_file = '{tmp_path / 'token'}'\n"
            (tmp_path / "slpstream.toml").write_text(token + text + "".join(stations))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.until(lambda: facts().get("token") == "required")
            assert daemon.terminate() == 0
        deadline = time.monotonic() + DEADLINE_SECONDS
        while facts():
            assert time.monotonic() < deadline


class Network:
    """A stand-in for zeroconf and for the addresses of the machine."""

    def __init__(self) -> None:
        self.addresses = ["127.0.0.1"]
        self.announced: list[list[str]] = []
        """The addresses of each announcement that has not been withdrawn."""
        self.updates = 0
        self.update_error: Exception | None = None

    def adapters(self) -> Sequence[Any]:
        return [SimpleNamespace(ips=[SimpleNamespace(ip=each), SimpleNamespace(ip=("::1", 0, 0))])
                for each in self.addresses]  # fmt: skip

    def responder(self, interfaces: Any) -> Any:
        mine: list[list[str]] = []

        def register_service(info: Any, allow_name_change: bool) -> None:
            mine.append(info.parsed_addresses())
            self.announced.extend(mine)

        def update_service(info: Any) -> None:
            if self.update_error is not None:
                error, self.update_error = self.update_error, None
                raise error
            self.updates += 1

        def close() -> None:
            for each in mine:
                self.announced.remove(each)

        return SimpleNamespace(register_service=register_service, update_service=update_service, close=close)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    pytest.importorskip("zeroconf")
    network = Network()
    monkeypatch.setattr("zeroconf.Zeroconf", network.responder)
    monkeypatch.setattr("ifaddr.get_adapters", network.adapters)
    return network


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition. The test's clock does not wait for the threads that call zeroconf."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        await trio.sleep(1)


@asynccontextmanager
async def announced(name: str, host: str, facts: Callable[[], dict[str, str]] = dict) -> AsyncIterator[DnsSd]:
    found = DnsSd(name, host, 5151, facts)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(found.run)
        yield found
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_daemon_that_starts_before_the_network_is_announced_on_it_later(
    network: Network, autojump_clock: trio.testing.MockClock
) -> None:
    async with announced("Hall 3", "0.0.0.0") as found:
        await until(lambda: network.announced == [["127.0.0.1"]])
        await until(lambda: found.not_ready() == ["announce: this machine has no address in a network"])
        network.addresses = ["127.0.0.1", "192.0.2.7"]
        await until(lambda: network.announced == [["192.0.2.7"]] and found.not_ready() == [])
        network.addresses = ["127.0.0.1", "192.0.2.7", "198.51.100.4"]
        await until(lambda: network.announced == [["192.0.2.7", "198.51.100.4"]])
        network.addresses = ["127.0.0.1"]
        await until(lambda: network.announced == [["127.0.0.1"]] and found.not_ready() != [])
    assert network.updates == 0, "the facts have not changed"
    await until(lambda: network.announced == [])  # the test's clock does not wait for the thread that withdraws it
    network.addresses = ["127.0.0.1", "192.0.2.7"]
    async with announced("Hall 3", "127.0.0.1") as found:
        await until(lambda: network.announced == [["127.0.0.1"]])
        await trio.sleep(60)
        assert (network.announced, found.not_ready()) == ([["127.0.0.1"]], []), "it listens on loopback alone"


@pytest.mark.trio
async def test_name_that_zeroconf_refuses_is_named_and_tried_again(
    network: Network, autojump_clock: trio.testing.MockClock
) -> None:
    async with announced("Hall\x07", "127.0.0.1") as found:
        await until(lambda: found.not_ready() != [])
        assert "control character" in found.not_ready()[0]
        await trio.sleep(60)


@pytest.mark.trio
async def test_facts_that_cannot_be_announced_are_tried_again(
    network: Network, autojump_clock: trio.testing.MockClock
) -> None:
    from zeroconf import NotRunningException

    facts = {"stations": "1"}
    async with announced("Hall 3", "127.0.0.1", lambda: facts) as found:
        await until(lambda: network.announced != [])
        network.update_error = NotRunningException()
        facts = {"stations": "2"}
        await until(lambda: "NotRunningException" in str(found.not_ready()))
        await until(lambda: found.not_ready() == [] and network.announced != [])
        facts = {"stations": "3"}
        await until(lambda: network.updates == 1)


def relayed(host: str, port: int) -> dict[str, Any]:
    station = {"id": "setup-1", "folder": "/games", "relay_port": port}
    return {"announce": {"relayed_station": True}, "relay": {"host": host}, "stations": [station]}


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"announce": {"name": "Hall\x073"}}, r"announce\.name: expected printable characters"),
        (relayed("0.0.0.0", 51442), "needs a station with relay_port = 51441"),
        (relayed("127.0.0.1", 51441), "needs an address in relay.host that other machines can reach"),
    ],
)
def test_announcement_that_can_never_work(table: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        configuration.check(table, registry.sections())
    family = "\N{MAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
    named = configuration.check({"announce": {"name": family}}, registry.sections())
    assert named.section(Announce).name == family


def test_dns_sd_without_its_library_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    config = configuration.check({"announce": {"dns_sd": True}}, registry.sections())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"announce\.dns_sd.*extra"):
        parts_of(config)
    parts_of(Config())


class Relayed:
    """Relayed stations with the same number of clients."""

    def __init__(self, clients: int | None) -> None:
        self.clients = clients

    def relay_clients(self, station: str) -> int | None:
        return self.clients

    async def call(self, station: str, name: str, source: str, target: tuple[str, int]) -> None:
        await discovery.call(station, name, source, target)


@pytest.mark.trio
async def test_calls_every_ten_seconds_while_nobody_is_connected_and_names_a_network_that_is_away(
    autojump_clock: trio.testing.MockClock,
) -> None:
    stations = Relayed(None)
    heard = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        relayed: list[tuple[str, str] | None] = [("setup-1", "Setup 1")]
        call = RelayCall(lambda: relayed[0], "127.0.0.1", listener.getsockname(), lambda: stations)

        def heard_calls() -> int:
            nonlocal heard
            while True:
                try:
                    datagram, address = listener.recvfrom(100)
                except BlockingIOError:
                    return heard
                found = discovery.read_call(datagram, address[0])
                assert relayed[0] is not None
                station, name = relayed[0]
                assert found == discovery.Call(name, discovery.own_mac(station), "127.0.0.1")
                heard += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call.run)
            await trio.sleep(60)
            assert heard_calls() == 0, "the relay does not listen yet"
            stations.clients = 0
            await trio.sleep(3.5 * CALL_SECONDS)
            assert heard_calls() == 4
            stations.clients = 1
            await trio.sleep(60)
            assert heard_calls() == 4
            stations.clients = 0
            await trio.sleep(2)
            assert heard_calls() == 5
            relayed[0] = ("setup-2", "Setup 2")
            await trio.sleep(CALL_SECONDS)
            assert heard_calls() == 6
            relayed[0] = None
            await trio.sleep(60)
            assert heard_calls() == 6
            assert call.not_ready() == []
            nursery.cancel_scope.cancel()
    names: list[tuple[str, str] | None] = [("setup-1", "Setup 1")]
    away = RelayCall(lambda: names[0], "192.0.2.55", ("192.0.2.255", 20582), lambda: Relayed(0))  # not our address
    async with trio.open_nursery() as nursery:
        nursery.start_soon(away.run)
        await trio.sleep(100)
        [problem] = away.not_ready()
        assert problem.startswith("announce: station setup-1: ")
        names[0] = None
        assert away.not_ready() == []
        nursery.cancel_scope.cancel()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")
def test_station_that_gets_the_relay_port_in_a_reload_is_announced(tmp_path: Path) -> None:
    host = f"127.85.{os.getpid() >> 8 & 0xFF}.{(os.getpid() & 0xFF) or 1}"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(DEADLINE_SECONDS)

        def configuration_with(relayed: str) -> str:
            stations = [
                f"[[stations]]\nid = '{name}'\nfolder = '{tmp_path / name}'\n"
                f"relay_port = {51441 if name == relayed else 0}\n"
                for name in ("one", "two")
            ]
            return (
                f'[relay]\nhost = "{host}"\n[announce]\nrelayed_station = true\nbroadcast_host = "127.0.0.1"\n'
                f"broadcast_port = {listener.getsockname()[1]}\n{''.join(stations)}"
            )

        def heard() -> discovery.Call | None:
            datagram, address = listener.recvfrom(100)
            return discovery.read_call(datagram, address[0])

        with configured(tmp_path, configuration_with("one")) as daemon:
            assert heard() == discovery.Call("one", discovery.own_mac("one"), host)
            (tmp_path / "slpstream.toml").write_text(configuration_with("two"))
            daemon.process.send_signal(signal.SIGHUP)
            daemon.until(lambda: any(line.get("event") == "configuration reloaded" for line in daemon.lines))
            daemon.until(lambda: heard() == discovery.Call("two", discovery.own_mac("two"), host))


def test_own_broadcast_does_not_become_a_station(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    host = f"127.84.{os.getpid() >> 8 & 0xFF}.{(os.getpid() & 0xFF) or 1}"
    port = free_port(socket.SOCK_DGRAM)
    text = f"""
        [relay]
        host = "{host}"
        discovery = true
        discovery_host = "127.0.0.1"
        discovery_port = {port}
        [announce]
        relayed_station = true
        broadcast_host = "127.0.0.1"
        broadcast_port = {port}
        [[stations]]
        id = "main"
        name = "Setup 1"
        folder = '{tmp_path / "main"}'
        relay_port = 51441
    """
    with configured(tmp_path, text) as daemon, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        # A console that calls later becomes a station. The daemon's broadcast was sent at its start.
        daemon.until(lambda: any(line.get("event") == "relay listening" for line in daemon.lines))
        other.bind((host, 0))
        own = discovery.write_call("Setup 1", discovery.own_mac("main"))
        foreign = discovery.write_call("Wii 7", "00:17:ab:00:00:07")
        for datagram in (own, foreign):
            other.sendto(datagram, ("127.0.0.1", port))
        daemon.until(lambda: "Wii-7" in [each["id"] for each in daemon.get("/v1/stations")["stations"]])
        assert [each["id"] for each in daemon.get("/v1/stations")["stations"]] == ["main", "Wii-7"]


@pytest.mark.slow
def test_forged_calls_take_a_place_only_for_a_while(tmp_path: Path) -> None:
    """Silent consoles occupy all places. A real console still gets one after a while, and the operator can free one."""
    port = free_port(socket.SOCK_DGRAM)

    def call(nick: str, number: int) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as console:
            console.bind((f"127.86.{os.getpid() & 0xFF}.{number}", 0))
            console.sendto(discovery.write_call(nick, f"00:17:ab:00:00:{number:02x}"), ("127.0.0.1", port))

    text = f"[relay]\ndiscovery = true\ndiscovery_host = '127.0.0.1'\ndiscovery_port = {port}\n"
    with configured(tmp_path, f"{text}[[stations]]\nid = 'main'\nfolder = '{tmp_path}'\n") as daemon:

        def discovered() -> list[str]:
            return [station["id"] for station in daemon.get("/v1/stations")["stations"] if station["id"] != "main"]

        for number in range(1, 65):
            call(f"Forged {number}", number)
            daemon.until(lambda number=number: len(discovered()) == number)  # type: ignore[misc]
        call("Real", 100)
        assert "Real" not in discovered()

        def calls_again() -> bool:
            call("Real", 100)
            time.sleep(0.5)
            return "Real" in discovered()

        daemon.until(calls_again)
        assert len(discovered()) == 64
        assert daemon.request("DELETE", "/v1/stations/Forged-64")[0] in {200, 204}
        assert "Forged-64" not in discovered()
