"""The controller check of a daemon: games that are played, games that were there before, and a daemon without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from structlog.testing import capture_logs

from slpstream.api import open_replay
from slpstream.daemon.tournament import controllers
from slpstream.daemon.tournament.controllers import DaemonControllers
from slpstream.stream import Channel
from tests.daemons.process import DaemonProcess, running
from tests.daemons.station import running_station
from tests.tournament.controllers.hands import Inputs, analog, box, moved, with_inputs

BEFORE = 1_700_000_000
PLAYERS = {0: analog(1, change=partial(moved, 9, -7)), 1: box(2, travel=False), 2: analog(3)}


def configured(folder: Path, more: str = "") -> tuple[str, ...]:
    path = folder / "slpstream.toml"
    path.write_text(f"{more}\n[controllers]\ncheck = true\n")
    return ("--config", str(path))


def expected(path: Path) -> tuple[str, Any]:
    replay = open_replay(path)
    return replay.game_id, msgspec.to_builtins(replay.controllers())


def findings(report: Any, group: str) -> list[tuple[int, str]]:
    return [(p["port"], f["check"]) for p in report["players"] for f in p["findings"] if f["group"] == group]


def metric(daemon: DaemonProcess, check: str) -> float:
    lines = daemon.text("/metrics").splitlines()
    wanted = f'slpstream_controller_findings_total{{check="{check}"'
    return sum(float(line.split()[-1]) for line in lines if line.startswith(wanted))


@pytest.mark.slow
def test_controllers_of_games(tmp_path: Path) -> None:
    data = with_inputs(PLAYERS)
    folder = tmp_path / "main"
    folder.mkdir()
    whole = tmp_path / "whole.slp"
    whole.write_bytes(data)
    game_id, report = expected(whole)
    with running(folder, arguments=configured(tmp_path)) as daemon:
        daemon.wait_ready()
        assert daemon.get("/v1/stations/main/controllers") == {"configured": True}

        path = folder / "Game_1.slp"
        game = f"/v1/games/{game_id}/controllers"
        path.write_bytes(data[: 2 * len(data) // 5])
        daemon.until(lambda: bool(daemon.get("/v1/stations/main/controllers").get("report", {}).get("players")))
        station = partial(daemon.get, "/v1/stations/main/controllers")
        daemon.until(lambda: (1, "rest") in findings(station()["report"], "health"), 60)
        live = daemon.get(game)
        assert (live["gameId"], live["final"]) == (game_id, False)
        assert findings(live["report"], "legality") == [], "rules are not judged before a minute"
        assert metric(daemon, "rest") == 0

        with path.open("ab") as file:
            file.write(data[2 * len(data) // 5 :])
        daemon.until(lambda: station()["final"], 60)
        assert station() == daemon.get(game) == {"configured": True, "gameId": game_id, "final": True, "report": report}
        assert (2, "travel_time") in findings(report, "legality")
        assert metric(daemon, "rest") == metric(daemon, "travel_time") == 1
        daemon.until(lambda: {1, 2} <= {line["port"] for line in told(daemon)})
        told_of = [(line["port"], line["check"], line["confidence"]) for line in told(daemon)]
        assert len(set(told_of)) == len(told_of), "each is logged once"
        assert {line["game_id"] for line in told(daemon)} == {game_id}


def told(daemon: DaemonProcess) -> list[dict[str, Any]]:
    return [line for line in daemon.lines if line["event"] == "look at this controller"]


@pytest.mark.slow
def test_older_games_are_checked_on_request(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    old = folder / "old.slp"
    old.write_bytes(with_inputs(PLAYERS))
    os.utime(old, (BEFORE, BEFORE))
    game_id, report = expected(old)
    with running(folder, arguments=configured(tmp_path)) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
        found = daemon.get(f"/v1/games/{game_id}/controllers")
        assert found == {"configured": True, "gameId": game_id, "final": True, "report": report}
        assert daemon.get("/v1/stations/main/controllers") == found, "no newer game was played since the start"
        assert told(daemon) == []
        for unknown in (f"/v1/games/{'0' * 32}/controllers", "/v1/games/x/controllers", "/v1/stations/no/controllers"):
            with pytest.raises(urllib.error.HTTPError) as error:
                daemon.get(unknown)
            error.value.close()
            assert error.value.code == 404


@pytest.mark.slow
def test_findings_are_for_operators(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    for name in ("viewer", "operator"):
        (tmp_path / name).write_text(f"{name}-token-0123456789\n")
    access = f"[server]\nrequire_token = true\ntoken_file = '{tmp_path / 'viewer'}'\n"
    access += f"operate_token_file = '{tmp_path / 'operator'}'"
    with running(folder, arguments=configured(tmp_path, access)) as daemon:

        def get(path: str, name: str) -> Any:
            with urllib.request.urlopen(f"{daemon.url}{path}?token={name}-token-0123456789", timeout=10) as response:
                return json.load(response)

        daemon.until(lambda: any(line["event"] == "folder scanned" for line in daemon.lines))
        (folder / "Game_1.slp").write_bytes(with_inputs(PLAYERS))
        daemon.until(lambda: bool(get("/v1/stations/main/controllers", "operator").get("final")), 60)
        game_id = get("/v1/stations/main/controllers", "operator")["gameId"]
        for path in ("/v1/stations/main/controllers", f"/v1/games/{game_id}/controllers"):
            assert "report" in get(path, "operator")
            assert get(path, "viewer") == {"configured": False}


@pytest.mark.slow
def test_nothing_is_loaded_unless_it_is_configured(tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    (folder / "Game_1.slp").write_bytes(with_inputs(PLAYERS))
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
        game_id = daemon.get("/v1/games")["games"][0]["gameId"]
        for path in ("/v1/stations/main/controllers", f"/v1/games/{game_id}/controllers"):
            assert daemon.get(path) == {"configured": False}
    code = "import sys, slpstream.daemon.daemon; print([m for m in sys.modules if 'tournament.controllers' in m])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "tournament.controllers.check" not in loaded


@pytest.mark.trio
async def test_other_tasks_get_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole game that arrives at once is checked a few frames at a time."""
    monkeypatch.setattr(controllers, "_COLLECT_SECONDS", 0.0)
    longest = 0
    taken = 0
    real = controllers._take

    def count(*given: Any) -> None:
        nonlocal taken, longest
        taken += 1
        longest = max(longest, taken)
        real(*given)

    monkeypatch.setattr(controllers, "_take", count)

    async def interrupt() -> None:
        nonlocal taken
        while True:
            taken = 0
            await trio.lowlevel.checkpoint()

    async with running_station(tmp_path) as station, trio.open_nursery() as nursery:
        check = DaemonControllers(lambda check, confidence: None)
        nursery.start_soon(follow, check, station.channel)
        nursery.start_soon(interrupt)
        (tmp_path / "Game_1.slp").write_bytes(with_inputs(PLAYERS))
        while (found := await check.station("setup")) is None or not found.final:
            await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    assert longest <= 2 * controllers._FRAMES_AT_ONCE


@pytest.mark.trio
async def test_finding_is_logged_again_only_with_more_confidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stick that does not reach the rim in two directions, one with medium and one with low confidence."""
    monkeypatch.setattr(controllers, "_COLLECT_SECONDS", 0.0)
    pushes = [(70, 0)] * 25 + [(0, 70)] * 12
    stick = [Inputs(stick=point if frame < 4 else (0, 0)) for point in pushes for frame in range(10)]
    with capture_logs() as logs:
        async with running_station(tmp_path) as station, trio.open_nursery() as nursery:
            check = DaemonControllers(lambda check, confidence: None)
            nursery.start_soon(follow, check, station.channel)
            (tmp_path / "Game_1.slp").write_bytes(with_inputs({0: stick}))
            while (found := await check.station("setup")) is None or not found.final:
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    report = msgspec.to_builtins(found.report)
    assert findings(report, "health").count((1, "rim")) == 2
    assert [log["confidence"] for log in logs if (log.get("port"), log.get("check")) == (1, "rim")] == ["medium"]


async def follow(check: DaemonControllers, channel: Channel) -> None:
    await check.follow(channel)
