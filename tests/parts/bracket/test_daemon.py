"""A real daemon with a bracket: killed during a set, with a start.gg that loses answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess
from tests.parts.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble, Trouble, section
from tests.sets.games import Seat, replay

pytestmark = [pytest.mark.slow, pytest.mark.process]
SEATS = {0: Seat("Altea"), 1: Seat("Vixen", "VIXN#101")}
WINNERS = (0, 1, 1, 0, 1)


def wait(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def one_set() -> StartggDouble:
    """An event with one set, between the players of `SEATS`."""
    double = StartggDouble(time.time)
    double.stations[501] = (1, "Setup 1")
    one, other = Entrant(1001, [Player("altea")]), Entrant(1002, [Player("Somebody", "SLP", code="VIXN#101")])
    double.add(DoubleSet("final", "preview_400_1", 400, [one, other], round="Grand Final", total_games=5))
    return double


def test_killed_daemon_reports_a_set_once(tmp_path: Path) -> None:
    station = tmp_path / "setup-1"
    station.mkdir()
    double = one_set()
    lost: Iterator[Trouble] = iter(["", "", "", "lost_after", "lost_before"])
    double.trouble = lambda operation: next(lost, "") if operation == "Report" else ""
    with double.served() as url:
        wishes = "confirm = false\nhold_seconds = 0.0\nassign_stations = true\nstart_sets = true\n"
        arguments = configuration(tmp_path, section(url, tmp_path) + wishes)
        for number, winner in enumerate(WINNERS):
            daemon = DaemonProcess(station, arguments=arguments, state=tmp_path / "state")
            try:
                daemon.wait_ready()
                before = len(double.sets["final"].games)
                left = {player: 2 if player == winner else 0 for player in SEATS}
                (station / f"Game_{number}.slp").write_bytes(replay(SEATS, left, seconds=60, minute=5 * number))
                wait(lambda: len(double.sets["final"].games) > before)  # noqa: B023 -- waits inside the loop
            finally:
                daemon.kill()
        daemon = DaemonProcess(station, arguments=arguments, state=tmp_path / "state")
        try:
            daemon.wait_ready()
            wait(lambda: [each["state"] for each in daemon.get("/v1/bracket")["queue"]] == ["done"])
            state = daemon.get("/v1/bracket")
            assert state["waiting"] == 0
            played = daemon.get("/v1/stations/setup-1/set")
            assert (played["round"], played["event"], played["bestOf"]) == ("Grand Final", "Melee Singles", 5)
        finally:
            daemon.kill()
    found = double.sets["final"]
    assert len(found.completions) == 1
    assert found.resets == 0
    assert found.station == 501
    winner, games = found.completions[0]
    assert winner == 1
    assert [game["winnerId"] for game in games] == [str((1001, 1002)[winner]) for winner in WINNERS]
