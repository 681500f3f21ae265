"""SIGHUP: the configuration is reloaded, and unchanged stations are not disturbed."""

from __future__ import annotations

import json
import signal
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from slpstream import config
from slpstream.api import messages
from slpstream.config import APPLIED_AT_RELOAD, Config, changes
from tests.daemons.process import DaemonProcess, LogReader, running
from tests.synthetic.match import synthetic_match


def test_applied_keys_exist() -> None:
    assert {f"{key.section}.{key.name}" for key in config.all_keys()} | config.LISTED >= APPLIED_AT_RELOAD


@pytest.mark.parametrize(
    "key",
    [key for key in config.all_keys() if key.section not in config.LISTED],
    ids=lambda key: f"{key.section}.{key.name}",
)
def test_each_key_is_applied_or_needs_a_restart(key: config.Key) -> None:
    """A reload applies some keys; the others keep their old values until a restart."""
    before, default = Config(), key.default
    section = getattr(before, key.section)
    other: Any = default + 1 if isinstance(default, int | float) else ["x"] if isinstance(default, list) else "other"
    if isinstance(default, bool):
        other = not default
    changed = msgspec.structs.replace(section, **{key.name: other})
    outcome = changes(before, msgspec.structs.replace(before, **{key.section: changed}))
    name = f"{key.section}.{key.name}"
    applied = name in APPLIED_AT_RELOAD
    assert (outcome.applied, outcome.needs_restart) == (([name], []) if applied else ([], [name]))
    assert getattr(getattr(outcome.config, key.section), key.name) == (other if applied else default)
    assert changes(outcome.config, outcome.config) == (outcome.config, [], [])


def test_stations_are_applied_as_a_whole() -> None:
    after = msgspec.structs.replace(Config(), stations=[config.StationConfig(id="a", folder="/a")])
    outcome = changes(Config(), after)
    assert outcome == (after, ["stations"], [])


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")


_RAW_LENGTH = slice(11, 15)


class Configuration:
    """The configuration file of a daemon, and a notification socket in place of systemd."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "slpstream.toml"
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.settimeout(30)

    def folder(self, name: str) -> Path:
        (self.root / name).mkdir(exist_ok=True)
        return self.root / name

    def write(self, stations: dict[str, str], more: str = "") -> None:
        tables = [f'[[stations]]\nid = "{name}"\nfolder = "{self.folder(to)}"\n' for name, to in stations.items()]
        self.file.write_text(more + "\n" + "\n".join(tables))

    def reload(self, daemon: DaemonProcess) -> dict[str, Any]:
        """Send SIGHUP and return the log line about the reload."""
        seen = len(daemon.lines)
        daemon.process.send_signal(signal.SIGHUP)
        datagram = b""
        while not datagram.startswith(b"READY=1"):
            datagram = self.notified.recv(4096)
            assert datagram.startswith((b"RELOADING=1\nMONOTONIC_USEC=", b"READY=1", b"WATCHDOG=1")), datagram
        lines: list[dict[str, Any]] = []

        def is_logged() -> bool:
            lines[:] = [line for line in daemon.lines[seen:] if str(line.get("event")).startswith("configuration ")]
            return bool(lines)

        daemon.until(is_logged)
        return lines[0]


@pytest.fixture
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Configuration]:
    configuration = Configuration(tmp_path)
    with configuration.notified:
        configuration.notified.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.delenv("WATCHDOG_USEC", raising=False)
        yield configuration


def stations(daemon: DaemonProcess) -> dict[str, str]:
    return {station["id"]: station["state"] for station in daemon.get("/v1/stations")["stations"]}


def not_ready(daemon: DaemonProcess) -> list[str]:
    try:
        return list(daemon.get("/readyz")["missing"])
    except urllib.error.HTTPError as error:
        with error:
            return list(json.load(error)["missing"])


def read_until(socket: ClientConnection, condition: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Messages up to and including the first for which the condition is true."""
    received: list[dict[str, Any]] = []
    while not (received and condition(received[-1])):
        received.append(json.loads(socket.recv(timeout=30)))
    return received


def test_stations_are_added_removed_and_changed(configuration: Configuration) -> None:
    game = bytearray(synthetic_match(seed=1, frames=200))
    game[_RAW_LENGTH] = bytes(4)  # as in a game in progress
    configuration.write({"same": "same", "goes": "goes", "moves": "before"})
    with running(arguments=("--config", str(configuration.file))) as daemon:
        assert configuration.notified.recv(4096).startswith(b"READY=1")
        daemon.wait_ready()
        same = LogReader("same")
        half = len(game) // 2
        (configuration.root / "same" / "Game_1.slp").write_bytes(game[:half])
        assert same.read(daemon, lambda reader: len(reader.lines) > 20)
        with (
            connect(daemon.stream_url(station="same", topics="game")) as undisturbed,
            connect(daemon.stream_url(station="goes")) as alone,
            connect(daemon.stream_url(station="moves", delivery="lossless")) as moved,
            connect(daemon.stream_url(station="*", topics="game", delivery="lossless")) as everything,
        ):
            read_until(undisturbed, lambda m: m["type"] == "snapshot")
            for other in (alone, moved):
                read_until(other, lambda m: m["type"] == "station" and m["state"] == "idle")
            daemon.until(lambda: daemon.get("/v1/stations/same")["subscribers"] == 2)

            configuration.write({"same": "same", "moves": "after", "comes": "comes"})
            outcome = configuration.reload(daemon)
            assert outcome["changed"] == ["stations"]
            assert set(stations(daemon)) == {"same", "moves", "comes"}

            with pytest.raises(ConnectionClosedError) as closed:
                read_until(alone, lambda _: False)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4404
            gone = read_until(everything, lambda m: m["type"] == "station" and m.get("reason") == "removed")[-1]
            assert (gone["station"], gone["state"]) == ("goes", "offline")
            read_until(everything, lambda m: m["station"] == "comes" and m.get("state") == "idle")
            read_until(moved, lambda m: m.get("reason") == "changed")

            for name in ("comes", "after"):
                (configuration.root / name / "Game_2.slp").write_bytes(synthetic_match(seed=len(name), frames=60))
            assert read_until(moved, lambda m: m["type"] == "metadata")
            ended = read_until(everything, lambda m: m["type"] == "metadata" and m["station"] == "comes")
            assert [m["type"] for m in ended if m["station"] == "comes" and m["type"] != "station"] == [
                "game_start", "game_end", "metadata",
            ]  # fmt: skip

            assert daemon.get("/v1/stations/same")["subscribers"] == 2
            with (configuration.root / "same" / "Game_1.slp").open("ab") as file:
                file.write(game[half:])
            received = read_until(undisturbed, lambda m: m["type"] == "game_end")
            assert [m["type"] for m in received if "cursor" in m] == ["game_end"]
            assert "offline" not in [m.get("state") for m in received]
        assert 'station="goes"' not in daemon.text("/metrics")
        assert same.read(daemon, lambda reader: b'"type":"metadata"' in reader.lines[-1])
        assert same.lines == [m.json() for m in messages(configuration.root / "same" / "Game_1.slp")]
        assert daemon.terminate() == 0


@pytest.mark.slow
def test_only_valid_configuration_is_applied(configuration: Configuration) -> None:
    token = configuration.root / "token"
    token.write_text("first\n")
    server = f'[server]\nrequire_token = true\ntoken_file = "{token}"\n'
    configuration.write({"a": "a"}, server)

    def is_accepted(daemon: DaemonProcess, token: str) -> bool:
        try:
            request = urllib.request.Request(daemon.url + "/v1/stations", headers={"authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=10) as response:
                return bool(response.status == 200)
        except urllib.error.HTTPError as error:
            with error:
                return error.code != 401

    with running(arguments=("--config", str(configuration.file))) as daemon:
        assert configuration.notified.recv(4096).startswith(b"READY=1")
        configuration.write({"a": "a", "b": "b"}, "[server]\nprt = 1\n")
        refused = configuration.reload(daemon)
        assert refused["event"] == "configuration refused; the old one stays"
        assert refused["level"] == "error"
        assert refused["what"] == f"{configuration.file}: server.prt: unknown key"
        assert is_accepted(daemon, "first")

        token.write_text("second\n")
        configuration.write(
            {"a": "a"}, server + "max_connections = 9\nport = 1\n[log]\nlevel = 'debug'\n[watch]\npoll_seconds = 1\n"
        )
        outcome = configuration.reload(daemon)
        assert outcome["changed"] == ["server.max_connections", "log.level"]
        daemon.until(lambda: any(line.get("event") == "needs a restart" for line in daemon.lines))
        [restart] = [line for line in daemon.lines if line.get("event") == "needs a restart"]
        assert restart["keys"] == ["watch.poll_seconds"], "the port on the command line takes precedence"
        assert (is_accepted(daemon, "first"), is_accepted(daemon, "second")) == (False, True), (
            "token files are read again"
        )

        configuration.file.unlink()
        assert configuration.reload(daemon)["what"].startswith(f"{configuration.file}: cannot be read")
        token.write_text("\n")
        configuration.write({"a": "a"}, server)
        assert "first line is empty" in configuration.reload(daemon)["what"]
        assert is_accepted(daemon, "second")
        assert daemon.terminate() == 0


@pytest.mark.slow
def test_new_subfolder_becomes_a_station(configuration: Configuration) -> None:
    """Subscribers to all stations get its first game from the beginning, even though it began before the station."""
    consoles = configuration.folder("consoles")
    (consoles / "Wii 1").mkdir()
    configuration.file.write_text(f'[[stations]]\nid = "*"\nfolder = "{consoles}"\n')
    game = synthetic_match(seed=1, frames=120)
    with running(arguments=("--config", str(configuration.file))) as daemon:
        assert list(stations(daemon)) == ["Wii-1"], "stations of present subfolders exist from the start"
        daemon.until(lambda: stations(daemon) == {"Wii-1": "idle"})
        with connect(daemon.stream_url(station="*", delivery="lossless"), max_size=None) as socket:
            read_until(socket, lambda m: m.get("state") == "idle")
            (consoles / "Wii 2").mkdir()
            (consoles / "Wii 2" / "Game_1.slp").write_bytes(game[: len(game) // 2])
            received = read_until(socket, lambda m: m["type"] == "frame")
            with (consoles / "Wii 2" / "Game_1.slp").open("ab") as file:
                file.write(game[len(game) // 2 :])
            received += read_until(socket, lambda m: m["type"] == "metadata")
        written = [message.cursor for message in messages(consoles / "Wii 2" / "Game_1.slp")]
        assert [m["cursor"] for m in received if "cursor" in m] == written
        assert {m["station"] for m in received if "cursor" in m} == {"Wii-2"}
        assert set(stations(daemon)) == {"Wii-1", "Wii-2"}

        configuration.file.write_text(
            configuration.file.read_text() + f'[[stations]]\nid = "*"\nfolder = "{configuration.root}/away"\n'
        )
        configuration.reload(daemon)
        daemon.until(lambda: f"folder {configuration.root}/away: cannot be read" in not_ready(daemon))

        configuration.write({"Wii-2": "consoles/Wii 2"})
        daemon.process.send_signal(signal.SIGHUP)
        daemon.until(lambda: stations(daemon) == {"Wii-2": "idle"})
        assert not_ready(daemon) == []
        [described] = daemon.get("/v1/stations")["stations"]
        assert described["name"] == "Wii-2", "the name of the configured station"


def test_sighup_is_ignored_under_nohup(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with running(tmp_path) as daemon:
            daemon.process.send_signal(signal.SIGHUP)
            assert daemon.get("/healthz") == {"status": "ok"}
            assert daemon.terminate() == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_sighup_stops_a_daemon_without_a_configuration_file(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        with running(tmp_path) as daemon:
            daemon.process.send_signal(signal.SIGHUP)
            assert daemon.process.wait(timeout=20) == 0
            daemon.kill()
    finally:
        signal.signal(signal.SIGHUP, before)
