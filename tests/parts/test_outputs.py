"""Outputs of a real daemon are complete in the end although the receiver is down and the daemon is killed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from slpstream.api import messages
from slpstream.config import Config
from slpstream.daemon.running_parts import RunningParts
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.parts.chat.part import Chat
from slpstream.parts.deliveries.store import FILE_NAME
from slpstream.parts.jsonl.part import JsonLines
from slpstream.parts.webhooks.part import Webhook
from tests.daemons.hosts import host_of, parts_of
from tests.daemons.process import DaemonProcess, running
from tests.parts.chat.discord_double import valid
from tests.parts.http_server import Response, serving
from tests.parts.receivers import SECRET, RealReceiver, real_receiver, verified
from tests.parts.scoreboards.helper_double import HelperDouble, served
from tests.ports import free_port
from tests.replays.in_progress import begun
from tests.sets.games import BATTLEFIELD, MARTH, Seat, replay
from tests.synthetic.match import synthetic_match

FRAMES = 400


def until(daemon: DaemonProcess, condition: Callable[[], bool]) -> None:
    """Wait for a condition, long enough for a machine that runs other tests too."""
    daemon.until(condition, 60.0)


class Setup:
    """A station, its replays, and a configuration with all outputs except Redis."""

    def __init__(self, folder: Path, receiver: RealReceiver) -> None:
        self.station = folder / "setup"
        self.station.mkdir()
        self.state = folder / "state"
        self.jsonl = folder / "jsonl" / "setup"
        self.obs = folder / "obs" / "setup"
        self.config = folder / "slpstream.toml"
        self.played: list[Path] = []
        self._folder = folder
        key = folder / "key"
        key.write_bytes(SECRET + b"\nnot this\n")
        self.config.write_text(
            f"[[webhooks]]\nurl = '{receiver.url}'\nsecret_file = '{key}'\n"
            f"[[jsonl]]\nfolder = '{self.jsonl.parent}'\n"
            f"[obs]\nfolder = '{self.obs.parent}'\n"
        )

    def daemon(self) -> DaemonProcess:
        return DaemonProcess(self.station, arguments=("--config", str(self.config)), state=self.state)

    def play(self, number: int) -> None:
        """Put a complete replay into the folder."""
        path = self.station / f"Game_{number}.slp"
        outside = self._folder / path.name
        outside.write_bytes(synthetic_match(seed=number, frames=FRAMES, stocks=1))
        outside.rename(path)
        self.played.append(path)

    def begin(self, number: int) -> Callable[[], None]:
        """Write the first half of a game. Returns a function that writes the rest."""
        path = self.station / f"Game_{number}.slp"
        self.played.append(path)
        return begun(path, synthetic_match(seed=number, frames=FRAMES, stocks=1))

    def delivery_keys(self) -> list[str]:
        """The keys of the deliveries about all games so far."""
        kinds = ("game_start", "game_end")
        return [m.cursor or "" for path in self.played for m in messages(path) if m.type in kinds]

    def dumped(self, path: Path) -> tuple[str, bytes]:
        """The expected name and content of a replay's file of JSON lines."""
        topics = frozenset({"game", "event", "stats", "diagnostic"})
        lines = [message.json() + b"\n" for message in messages(path, frames="finalized", topics=topics)]
        return json.loads(lines[0])["gameId"] + ".jsonl", b"".join(lines)

    def complete(self) -> bool:
        """Whether all files of JSON lines have their final size."""
        expected = [self.dumped(path) for path in self.played]
        sizes = {path.name: path.stat().st_size for path in self.jsonl.glob("*.jsonl")}
        return sizes == {name: len(data) for name, data in expected}


@pytest.mark.not_on_windows("Windows kills processes without SIGTERM")
@pytest.mark.slow
def test_outputs_are_complete_after_a_kill_while_the_receiver_is_down(tmp_path: Path) -> None:
    with real_receiver() as receiver:
        setup = Setup(tmp_path, receiver)
        receiver.status = 503
        daemon = setup.daemon()
        try:
            daemon.wait_ready()
            setup.play(1)
            receiver.wait(lambda: len(receiver.requests) > 0)
            finish = setup.begin(2)
            until(daemon, lambda: len(list(setup.jsonl.glob("*.jsonl"))) == 2)
        finally:
            daemon.kill()
        setup.play(3)  # while no daemon is running
        receiver.status = 204
        daemon = setup.daemon()
        try:
            daemon.wait_ready()
            finish()
            setup.play(4)
            receiver.wait(lambda: {request.key for request in receiver.accepted} >= set(setup.delivery_keys()))
            until(daemon, setup.complete)
            none_waits = f'slpstream_webhook_waiting_deliveries{{webhook="{receiver.url.split("/")[2]}"}} 0.0'
            until(daemon, lambda: none_waits in daemon.text("/metrics"))
            page = daemon.text("/metrics")
            assert 'slpstream_webhook_deliveries_total{outcome="delivered"} ' in page
            assert 'slpstream_jsonl_bytes_total{station="setup"} ' in page
            until(daemon, lambda: (setup.obs / "state.txt").read_text() == "idle")
            shown = json.loads((setup.obs / "state.json").read_bytes())
            assert shown["gameId"] in {key.split("/")[0] for key in setup.delivery_keys()}
            assert [player["player"] for player in shown["players"]] == ["Vixen", "Altea"]
            assert shown["stage"] == "Battlefield"
            code = daemon.terminate()
            assert code == 0
        finally:
            if daemon.process.poll() is None:
                daemon.kill()
        # On a slow machine, the set of these games is also delivered before the daemon ends.
        keys = list(dict.fromkeys(request.key for request in receiver.accepted if request.json["type"] != "set"))
        assert sorted(keys) == sorted(setup.delivery_keys())
        assert keys[:2] == setup.delivery_keys()[:2]
        assert all(verified(request) for request in receiver.requests)
        starts = [request.json for request in receiver.accepted if request.json["type"] == "game_start"]
        assert {start["summary"]["place"]["name"] for start in starts} == {"Battlefield"}
        ends = [request.json for request in receiver.accepted if request.json["type"] == "game_end"]
        assert all(end["summary"]["winners"] == [w["playerIndex"] for w in end["winners"]] for end in ends)
        assert all(end["stats"]["overall"] and end["settings"]["players"] and "durationSeconds" in end for end in ends)
        assert SECRET not in b"".join(request.body for request in receiver.accepted)
        for path in setup.played:
            name, data = setup.dumped(path)
            assert (setup.jsonl / name).read_bytes() == data


@pytest.mark.not_on_windows("Windows words this error differently")
@pytest.mark.slow
def test_result_is_shown_and_posted_while_other_outputs_fail(tmp_path: Path) -> None:
    setup, texts, plain = tmp_path / "setup", tmp_path / "Texts", tmp_path / "plain"
    setup.mkdir()
    (tmp_path / "jsonl").mkdir()
    (tmp_path / "jsonl" / "setup").write_text("not a folder")
    config, double, posted = tmp_path / "slpstream.toml", HelperDouble(), list[str]()

    def discord(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        message = json.loads(body)
        if (method, path) != ("POST", "/api/webhooks/1/secret") or not valid(message):
            return Response(400)
        posted.append(message["content"])
        return Response(204)

    with served(double) as helper, serving(discord) as address:
        (tmp_path / "url").write_text(f"{address}/api/webhooks/1/secret\n")
        config.write_text(
            f"[[jsonl]]\nfolder = '{tmp_path / 'jsonl'}'\n"
            f"[obs]\nurl = 'ws://127.0.0.1:{free_port()}'\n[[obs_rules]]\non = 'game_start'\nscene = 'Game'\n"
            f"[[chat]]\nurl_file = '{tmp_path / 'url'}'\nname = 'scores'\nlink = 'https://example.org/{{game_id}}'\n"
            f"[[scoreboards]]\nkind = 'tournament-stream-helper'\nstation = 'setup'\nurl = '{helper}'\n"
            f"[[scoreboards]]\nkind = 'melee-stream-tool'\nstation = 'setup'\npath = '{texts}'\n"
            "[[scoreboards]]\nkind = 'streamcontrol'\nstation = 'setup'\n"
            f"path = '{tmp_path / 'streamcontrol.json'}'\nmapping = {{ left = 'character1' }}\n"
            f"[[scoreboards]]\nkind = 'text'\nname = 'plain'\nstation = 'setup'\npath = '{plain}'\n"
        )
        with running(setup, arguments=("--config", str(config))) as daemon:
            daemon.wait_ready()
            seats = {0: Seat("Vixen"), 1: Seat("Altea", character=MARTH)}
            (setup / "Game_1.slp").write_bytes(replay(seats, {0: 0, 1: 2}, seconds=60, minute=0, stage=BATTLEFIELD))
            until(daemon, lambda: len(posted) == 1)
            [game] = daemon.get("/v1/games")["games"]
            until(daemon, lambda: (plain / "name2.txt").exists() and (plain / "name2.txt").read_text() == "Altea")
            until(daemon, lambda: double.score == [0, 1] and double.names == [["Vixen"], ["Altea"]])
            failing = {"OBS", "JSON lines", "scoreboard melee-stream-tool"}
            until(daemon, lambda: {reason.partition(":")[0] for reason in daemon.missing()} == failing)
            (tmp_path / "jsonl" / "setup").unlink()
            texts.mkdir()
            until(daemon, lambda: daemon.missing() == ["OBS: Connection refused"])
            info = json.loads((texts / "ScoreboardInfo.json").read_bytes())
            assert [info["p1Score"], info["p2Score"]] == double.score
            assert json.loads((tmp_path / "streamcontrol.json").read_bytes())["left"] == info["p1Character"] == "Fox"
            page = daemon.text("/metrics")
            for sample in (
                "slpstream_obs_connected 0.0",
                'slpstream_scoreboard_working{scoreboard="plain"} 1.0',
                'slpstream_scoreboard_updates_total{outcome="failed",scoreboard="melee-stream-tool"} ',
                'slpstream_webhook_waiting_deliveries{webhook="scores"} ',
            ):
                assert sample in page
            lines = daemon.lines
    link = f"https://example.org/{game['gameId']}"
    assert posted == [f"Game 1: **Altea** (Marth) beats Vixen (Fox) on Battlefield. 1–0 {link}"]
    assert "secret" not in json.dumps(lines)
    assert [line.get("event") for line in lines].count("OBS cannot be used; trying again") == 1


def config_error(make_config: Callable[[Path], Config], tmp_path: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        parts_of(make_config(tmp_path))
    return str(raised.value)


def test_unusable_configurations_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\nsecret\n")

    def webhook(name: str) -> Callable[[Path], Config]:
        def config(folder: Path) -> Config:
            hook = Webhook(url="https://example.org/hook", secret_file=str(folder / name))
            return Config(parts={"webhooks": [hook]})

        return config

    assert "webhooks[0].secret_file: cannot be read" in config_error(webhook("missing"), tmp_path)
    assert "webhooks[0].secret_file: the first line is empty" in config_error(webhook("empty"), tmp_path)
    twice = [JsonLines(folder=str(tmp_path)), JsonLines(folder=str(tmp_path / "x" / ".."))]
    assert "jsonl[1].folder: is there twice" in config_error(lambda folder: Config(parts={"jsonl": twice}), tmp_path)
    for content, what in (("", "first line is empty"), ("token", "expected an http"), (None, "read")):
        (tmp_path / "url").unlink(missing_ok=True)
        if content is not None:
            (tmp_path / "url").write_text(content)
        error = config_error(lambda folder: Config(parts={"chat": [Chat(url_file=str(folder / "url"))]}), tmp_path)
        assert "chat[0].url_file" in error
        assert what in error


def test_locked_database_of_deliveries_is_a_configuration_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is locked if another daemon uses it, for instance."""
    monkeypatch.setattr("slpstream.store.database_file.BUSY_MILLISECONDS", 10)
    (tmp_path / "key").write_bytes(SECRET)
    hook = Webhook(url="https://example.org/", secret_file=str(tmp_path / "key"))
    declared = [part for part in registry.parts() if part.name in ("deliveries", "webhooks")]

    def made() -> RunningParts:
        host = host_of(Config(parts={"webhooks": [hook]}))
        host.state_folder = tmp_path
        return RunningParts(declared, host)

    parts = made()
    parts.open()
    parts.close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConfigError, match="locked"):
            made().open()
