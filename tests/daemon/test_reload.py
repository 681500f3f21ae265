"""SIGHUP: the configuration is reloaded, and unchanged stations are not disturbed."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from slpstream.api import messages
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DEADLINE_SECONDS, DaemonProcess, LogReader, running
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")


class Configuration:
    """The configuration file of a daemon, and a notification socket that replaces systemd."""

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


def read_until(socket: ClientConnection, condition: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Receive messages up to and including the first one for which the condition is true."""
    received: list[dict[str, Any]] = []
    while not (received and condition(received[-1])):
        received.append(json.loads(socket.recv(timeout=30)))
    return received


def test_stations_are_added_removed_and_changed(configuration: Configuration) -> None:
    configuration.write({"same": "same", "goes": "goes", "moves": "before"})
    with running(arguments=("--config", str(configuration.file))) as daemon:
        assert configuration.notified.recv(4096).startswith(b"READY=1")
        daemon.wait_ready()
        same = LogReader("same")
        game = PlayedGame(configuration.root / "same" / "Game_1.slp", synthetic_match(seed=1, frames=200))
        game.write(len(game.whole) // 2)
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
            game.end()
            received = read_until(undisturbed, lambda m: m["type"] == "game_end")
            assert [m["type"] for m in received if "cursor" in m] == ["game_end"]
            assert "offline" not in [m.get("state") for m in received]
        assert 'station="goes"' not in daemon.text("/metrics")
        assert same.read(daemon, lambda reader: b'"type":"metadata"' in reader.lines[-1])
        assert same.lines == [m.json() for m in messages(game.path)]
        assert daemon.terminate() == 0


@pytest.mark.slow
def test_only_valid_configuration_is_applied(configuration: Configuration) -> None:
    token = configuration.root / "token"
    token.write_text("first\n")
    server = f'[server]\nrequire_token = true\ntoken_file = "{token}"\n'
    configuration.write({"a": "a"}, server)

    def is_accepted(daemon: DaemonProcess, token: str) -> bool:
        return daemon.request("GET", "/v1/stations", token=token)[0] != 401

    with running(arguments=("--config", str(configuration.file))) as daemon:
        assert configuration.notified.recv(4096).startswith(b"READY=1")
        configuration.write({"a": "a", "b": "b"}, "[server]\nprt = 1\n")
        refused = configuration.reload(daemon)
        assert refused["event"] == "configuration refused; the old one stays"
        assert refused["level"] == "error"
        assert refused["what"] == f"{configuration.file}: server.prt: unknown key; did you mean port?"
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


@pytest.mark.parametrize("under_nohup", [True, False])
def test_sighup_stops_a_daemon_without_a_configuration_file_unless_under_nohup(
    under_nohup: bool, tmp_path: Path
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if under_nohup else signal.SIG_DFL)
    try:
        with running(tmp_path) as daemon:
            daemon.process.send_signal(signal.SIGHUP)
            if under_nohup:
                assert daemon.get("/healthz") == {"status": "ok"}
                assert daemon.terminate() == 0
            else:
                assert daemon.process.wait(timeout=DEADLINE_SECONDS) == 0
                daemon.kill()
    finally:
        signal.signal(signal.SIGHUP, before)
