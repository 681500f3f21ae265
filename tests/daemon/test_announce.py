"""Being found: by DNS-SD, and by the broadcasts of a console. Everything stays on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from slpstream import config as configuration
from slpstream.config import Config
from slpstream.daemon import announce
from slpstream.daemon.announce.relay_call import CALL_SECONDS, RelayCall
from slpstream.model.errors import ConfigError
from slpstream.sources.console import discovery
from tests.daemon_process import DaemonProcess, running
from tests.project import ROOT

STATION = {"id": "setup-1", "folder": "/games", "relay_port": 51441}


@contextmanager
def daemon_with(folder: Path, text: str) -> Iterator[DaemonProcess]:
    config = folder / "config.toml"
    config.write_text(text)
    (folder / "main").mkdir(exist_ok=True)
    with running(arguments=("--config", str(config)), state=folder / "state") as daemon:
        daemon.wait_ready()
        yield daemon


class Browser:
    """Another process that browses for daemons."""

    def __init__(self, interface: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.daemon.browse", interface],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the browser has ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def until(self, what: str, name: str) -> dict[str, Any]:
        while True:
            found = self.next()
            if (found["what"], found["name"].partition(".")[0]) == (what, name):
                return found

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def browser() -> Iterator[Browser]:
    browsing = Browser("127.0.0.1")
    yield browsing
    browsing.close()


@pytest.mark.skipif(find_spec("zeroconf") is None, reason="zeroconf is not installed (extra `announce`)")
def test_daemon_is_found_by_dns_sd_and_withdrawn_when_it_stops(tmp_path: Path, browser: Browser) -> None:
    name = f"Hall 3 {os.getpid()}"
    stations = f"[[stations]]\nid = 'main'\nfolder = '{tmp_path / 'main'}'\n"
    with daemon_with(tmp_path, f"[announce]\ndns_sd = true\nname = '{name}'\n{stations}") as daemon:
        found = browser.until("found", name)
        assert found["port"] == int(daemon.url.rpartition(":")[2])
        assert found["addresses"] == ["127.0.0.1"]
        facts = found["facts"]
        assert facts.pop("version")
        assert facts == {"path": "/", "stations": "1", "token": "none"}
        (tmp_path / "second").mkdir()
        (tmp_path / "config.toml").write_text(
            f"[announce]\ndns_sd = true\nname = '{name}'\n{stations}"
            f"[[stations]]\nid = 'second'\nfolder = '{tmp_path / 'second'}'\n"
        )
        daemon.process.send_signal(1)  # SIGHUP
        assert browser.until("changed", name)["facts"]["stations"] == "2"
        assert daemon.terminate() == 0
        browser.until("gone", name)


def test_name_with_control_characters_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match=r"announce\.name: expected printable characters"):
        configuration.check({"announce": {"name": "Hall\x073"}})


def test_dns_sd_without_its_library_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    config = configuration.check({"announce": {"dns_sd": True}})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"announce\.dns_sd.*extra"):
        announce.check_announce(config)
    announce.check_announce(Config())


@pytest.mark.parametrize(
    ("relay", "port", "what"),
    [
        ({"host": "0.0.0.0"}, 51442, "needs a station with relay_port = 51441"),
        ({"host": "127.0.0.1"}, 51441, "needs an address in relay.host that other machines can reach"),
    ],
)
def test_station_that_no_launcher_could_reach(relay: dict[str, str], port: int, what: str) -> None:
    stations = [{**STATION, "relay_port": port}]
    with pytest.raises(ConfigError, match=what):
        configuration.check({"announce": {"relayed_station": True}, "relay": relay, "stations": stations})


def test_datagram_of_a_console() -> None:
    datagram = discovery.write_call("Setup 1", "02:01:02:03:04:05")
    assert datagram == b"SLIP_READY" + bytes([2, 1, 2, 3, 4, 5]) + b"Setup 1".ljust(32, b"\0")
    assert len(discovery.write_call("é" * 40, "02:01:02:03:04:05")) == 48
    call = discovery.read_call(discovery.write_call("é" * 40, "02:01:02:03:04:05"), "192.0.2.1")
    assert call == discovery.Call("é" * 15, "02:01:02:03:04:05", "192.0.2.1")


@pytest.mark.trio
async def test_calls_every_ten_seconds_while_nobody_is_connected(autojump_clock: trio.testing.MockClock) -> None:
    clients: list[int | None] = [None]
    heard = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        call = RelayCall("setup-1", "Setup 1", "127.0.0.1", listener.getsockname(), lambda: clients[0])

        def heard_calls() -> int:
            nonlocal heard
            while True:
                try:
                    datagram, address = listener.recvfrom(100)
                except BlockingIOError:
                    return heard
                found = discovery.read_call(datagram, address[0])
                assert found == discovery.Call("Setup 1", discovery.own_mac("setup-1"), "127.0.0.1")
                heard += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call.run)
            await trio.sleep(60)
            assert heard_calls() == 0, "the relay does not listen yet"
            clients[0] = 0
            await trio.sleep(3.5 * CALL_SECONDS)
            assert heard_calls() == 4
            clients[0] = 1
            await trio.sleep(60)
            assert heard_calls() == 4
            clients[0] = 0
            await trio.sleep(2)
            assert heard_calls() == 5
            assert call.not_ready() == []
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_network_that_is_away_is_named_and_tried_again(autojump_clock: trio.testing.MockClock) -> None:
    call = RelayCall("setup-1", "Setup 1", "192.0.2.55", ("192.0.2.255", 20582), lambda: 0)  # no address of ours
    async with trio.open_nursery() as nursery:
        nursery.start_soon(call.run)
        await trio.sleep(100)
        [problem] = call.not_ready()
        assert problem.startswith("announce: station setup-1: ")
        nursery.cancel_scope.cancel()


def test_own_broadcast_does_not_become_a_station(tmp_path: Path) -> None:
    host = f"127.84.{os.getpid() >> 8 & 0xFF}.{(os.getpid() & 0xFF) or 1}"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
    with daemon_with(tmp_path, text) as daemon, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        # A console that calls later becomes a station. The broadcast of the daemon came at its start.
        daemon.until(lambda: any(line.get("event") == "relay listening" for line in daemon.lines))
        other.bind((host, 0))
        own = discovery.write_call("Setup 1", discovery.own_mac("main"))
        foreign = discovery.write_call("Wii 7", "00:17:ab:00:00:07")
        for datagram in (own, foreign):
            other.sendto(datagram, ("127.0.0.1", port))
        daemon.until(lambda: "Wii-7" in [each["id"] for each in daemon.get("/v1/stations")["stations"]])
        assert [each["id"] for each in daemon.get("/v1/stations")["stations"]] == ["main", "Wii-7"]
