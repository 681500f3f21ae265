"""The controller check of a daemon: current games, older games, and a daemon without the check."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import trio
from structlog.testing import capture_logs

from slpstream.api import open_replay
from slpstream.config import Config
from slpstream.daemon.games import DaemonGames
from slpstream.parts.controllers.check import ControllerCheck
from slpstream.parts.controllers.checked_games import CheckedGames
from slpstream.parts.controllers.endpoints import GameControllers
from slpstream.parts.controllers.part import Controllers
from tests.daemons.configuration import requiring_tokens
from tests.daemons.hosts import host_of
from tests.daemons.process import DaemonProcess, configured, running
from tests.daemons.station import running_station
from tests.parts.controllers.hands import Inputs, analog, box, with_inputs

BEFORE = 1_700_000_000
PLAYERS = {
    0: analog(1, change=lambda number, point: (point[0] + 9, point[1] - 7)),
    1: box(2, travel=False),
    2: analog(3),
}


def checking(folder: Path) -> AbstractContextManager[DaemonProcess]:
    """A daemon that checks the controllers of a station."""
    (folder / "main").mkdir(exist_ok=True)
    return configured(folder, "[controllers]\ncheck = true\n", folder / "main")


def expected(path: Path) -> tuple[str, Any]:
    replay = open_replay(path)
    return replay.game_id, msgspec.to_builtins(replay.controllers())


def findings(report: Any, group: str) -> list[tuple[int, str]]:
    return [(p["port"], f["check"]) for p in report["players"] for f in p["findings"] if f["group"] == group]


@pytest.mark.slow
def test_controllers_of_games(tmp_path: Path) -> None:
    data = with_inputs(PLAYERS)
    whole = tmp_path / "whole.slp"
    whole.write_bytes(data)
    game_id, report = expected(whole)
    game, station = f"/v1/games/{game_id}/controllers", "/v1/stations/main/controllers"
    with checking(tmp_path) as daemon:

        def metric(check: str) -> float:
            wanted = f'slpstream_controller_findings_total{{check="{check}"'
            lines = daemon.text("/metrics").splitlines()
            return sum(float(line.split()[-1]) for line in lines if line.startswith(wanted))

        assert daemon.get(station) == {"configured": True}
        path = tmp_path / "main" / "Game_1.slp"
        path.write_bytes(data[: 2 * len(data) // 5])
        daemon.until(lambda: "report" in daemon.get(station))
        daemon.until(lambda: (1, "rest") in findings(daemon.get(station)["report"], "health"))
        live = daemon.get(game)
        assert (live["gameId"], live["final"]) == (game_id, False)
        assert findings(live["report"], "legality") == [], "rules are not judged before a minute"
        assert metric("rest") == 0

        with path.open("ab") as file:
            file.write(data[2 * len(data) // 5 :])
        daemon.until(lambda: daemon.get(station)["final"])
        final = {"configured": True, "gameId": game_id, "final": True, "report": report}
        assert daemon.get(station) == daemon.get(game) == final
        assert (2, "travel_time") in findings(report, "legality")
        assert metric("rest") == metric("travel_time") == 1
        daemon.until(lambda: {1, 2} <= {line["port"] for line in told(daemon)})
        told_of = [(line["port"], line["check"], line["confidence"]) for line in told(daemon)]
        assert len(set(told_of)) == len(told_of), "each is logged once"
        assert {line["game_id"] for line in told(daemon)} == {game_id}


def told(daemon: DaemonProcess) -> list[dict[str, Any]]:
    return [line for line in daemon.lines if line["event"] == "look at this controller"]


@pytest.mark.slow
def test_older_games_are_checked_on_request(tmp_path: Path) -> None:
    old = tmp_path / "main" / "old.slp"
    old.parent.mkdir()
    old.write_bytes(with_inputs(PLAYERS))
    os.utime(old, (BEFORE, BEFORE))
    game_id, report = expected(old)
    with checking(tmp_path) as daemon:
        daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == 1)
        found = daemon.get(f"/v1/games/{game_id}/controllers")
        assert found == {"configured": True, "gameId": game_id, "final": True, "report": report}
        assert daemon.get("/v1/stations/main/controllers") == found, "no newer game was played since the start"
        assert told(daemon) == []
        for unknown in (f"/v1/games/{'0' * 32}/controllers", "/v1/games/x/controllers", "/v1/stations/no/controllers"):
            assert daemon.status(unknown) == 404


@pytest.mark.slow
def test_findings_are_visible_only_to_operators(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    arguments = requiring_tokens(tmp_path, "[controllers]\ncheck = true\n")
    with running(tmp_path / "main", arguments=arguments) as daemon:

        def get(path: str, token: str) -> Any:
            return daemon.request("GET", path, token=token)[1]

        daemon.until(lambda: any(line["event"] == "folder scanned" for line in daemon.lines))
        (tmp_path / "main" / "Game_1.slp").write_bytes(with_inputs(PLAYERS))
        daemon.until(lambda: get("/v1/stations/main/controllers", "open").get("final"))
        game_id = get("/v1/stations/main/controllers", "open")["gameId"]
        for path in ("/v1/stations/main/controllers", f"/v1/games/{game_id}/controllers"):
            assert "report" in get(path, "open")
            assert get(path, "sesame") == {"configured": False}, "as without the check"


def test_check_is_off_by_default(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    with running(tmp_path / "main") as daemon:
        daemon.wait_ready()
        for path in ("/v1/stations/main/controllers", f"/v1/games/{'0' * 32}/controllers"):
            assert daemon.get(path) == {"configured": False}
        assert daemon.status("/v1/stations/no/controllers") == 404


def test_check_is_loaded_only_if_configured() -> None:
    code = "import sys; from slpstream.parts import registry; registry.endpoints({}); print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "slpstream.parts.controllers.endpoints" in loaded
    assert "slpstream.parts.controllers.check" not in loaded


class NoOlderGames:
    async def newest_of(self, station: str) -> None:
        """The index is empty."""


@asynccontextmanager
async def checked(folder: Path, data: bytes, *others: Callable[[], Awaitable[None]]) -> AsyncIterator[GameControllers]:
    """The controllers of a game that arrives at a station, while other tasks run."""
    async with running_station(folder) as station, trio.open_nursery() as nursery:
        host = host_of(Config(parts={"controllers": [Controllers(check=True)]}))
        host.games = cast(DaemonGames, NoOlderGames())
        check = CheckedGames(host)
        nursery.start_soon(check.follow, station.channel)
        for other in others:
            nursery.start_soon(other)
        (folder / "Game_1.slp").write_bytes(data)
        while (found := await check.newest_report("setup")) is None or not found.final:
            await trio.sleep(0.01)
        yield found
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_check_of_a_whole_game_lets_other_tasks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A complete game that arrives in one piece is checked a few frames at a time."""
    longest = taken = 0
    real = ControllerCheck.take

    def count(*given: Any) -> None:
        nonlocal taken, longest
        taken += 1
        longest = max(longest, taken)
        real(*given)

    monkeypatch.setattr(ControllerCheck, "take", count)

    async def interrupt() -> None:
        nonlocal taken
        while True:
            taken = 0
            await trio.lowlevel.checkpoint()

    async with checked(tmp_path, with_inputs(PLAYERS), interrupt):
        pass
    assert 0 < longest <= 60


@pytest.mark.trio
async def test_finding_is_logged_again_only_with_more_confidence(tmp_path: Path) -> None:
    """A stick that does not reach the rim in two directions, one with medium and one with low confidence."""
    pushes = [(70, 0)] * 25 + [(0, 70)] * 12
    stick = [Inputs(stick=point if frame < 4 else (0, 0)) for point in pushes for frame in range(10)]
    with capture_logs() as logs:
        async with checked(tmp_path, with_inputs({0: stick})) as found:
            assert findings(msgspec.to_builtins(found.report), "health").count((1, "rim")) == 2
    assert [log["confidence"] for log in logs if (log.get("port"), log.get("check")) == (1, "rim")] == ["medium"]
