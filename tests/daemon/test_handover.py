"""Zips of sets from a daemon: on demand, and into a folder when a set ends."""

from __future__ import annotations

import io
import json
import os
import re
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

import pytest

from tests.daemons.process import DaemonProcess, running
from tests.sets.games import DAY, Seat, replay
from tests.tournament.handover.validator import problems

ANN_AND_BOB = {0: Seat("Ann", "ANN#1"), 1: Seat("Bob", "BOB#2")}
NOON = 12 * 60 - 600
"""Minutes after 10 o'clock."""


@contextmanager
def daemon_with(folder: Path, *, zips: str = "zips", delay_seconds: float = 0.0) -> Iterator[DaemonProcess]:
    config = folder / "config.toml"
    config.write_text(
        f"""
        [handover]
        folder = '{folder / zips}'
        delay_seconds = {delay_seconds}
        [watch]
        scan_seconds = 0.2
        [[stations]]
        id = "main"
        folder = '{folder / "main"}'
        """
    )
    (folder / "main").mkdir(exist_ok=True)
    with running(arguments=("--config", str(config)), state=folder / "state") as daemon:
        daemon.wait_ready()
        yield daemon


def play(folder: Path, minute: float, winner: int = 0, *, seats: dict[int, Seat] | None = None) -> None:
    """Put a whole game into the folder of the station, as if it had been written just now."""
    data = replay(seats or ANN_AND_BOB, {0: 2 * (winner == 0), 1: 2 * (winner == 1)}, seconds=40, minute=minute)
    hidden = folder / f"Game_{minute}.part"
    hidden.write_bytes(data)
    hidden.rename(folder / "main" / f"Game_{minute}.slp")


def fetched(daemon: DaemonProcess, path: str) -> tuple[bytes, Message]:
    with urllib.request.urlopen(daemon.url + path, timeout=30) as response:
        return response.read(), response.headers


def set_id(daemon: DaemonProcess) -> str:
    found = daemon.get("/v1/stations/main/set")
    return str(found.get("setId", ""))


def zips(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "zips").glob("[!.]*")) if (folder / "zips").is_dir() else []


def operate(daemon: DaemonProcess, patch: dict[str, object]) -> None:
    request = urllib.request.Request(
        f"{daemon.url}/v1/stations/main/set",
        json.dumps(patch).encode(),
        {"content-type": "application/json"},
        method="PATCH",
    )
    urllib.request.urlopen(request, timeout=10).close()


@pytest.mark.slow
def test_zip_on_demand_and_when_a_set_ends_once(tmp_path: Path) -> None:
    with daemon_with(tmp_path) as daemon:
        play(tmp_path, NOON)
        daemon.until(lambda: any(side["won"] for side in daemon.get("/v1/stations/main/set").get("sides", [])))
        operate(daemon, {"round": "Winners Final", "event": "Singles"})
        body, headers = fetched(daemon, f"/v1/stations/main/sets/{set_id(daemon)}/replays.zip")
        assert problems(io.BytesIO(body)) == []
        assert headers["content-type"] == "application/zip"
        assert headers["content-disposition"] == 'attachment; filename="Singles WF - Ann (Fox) vs Bob (Fox).zip"'
        assert zips(tmp_path) == []  # the set goes on
        play(tmp_path, NOON + 5)
        daemon.until(lambda: zips(tmp_path) == ["Singles WF - Ann (Fox) vs Bob (Fox).zip"])
        assert problems(tmp_path / "zips" / zips(tmp_path)[0]) == []
        daemon.until(lambda: "slpstream_handover_zips_total 1.0" in daemon.text("/metrics"))
        first = set_id(daemon)
    with daemon_with(tmp_path) as daemon:  # a restart writes nothing twice, and a set of the same people is another one
        play(tmp_path, NOON + 10)
        play(tmp_path, NOON + 15)
        daemon.until(lambda: len(zips(tmp_path)) == 2)
        assert zips(tmp_path) == ["Singles - Ann (Fox) vs Bob (Fox).zip", "Singles WF - Ann (Fox) vs Bob (Fox).zip"]
        body, _ = fetched(daemon, f"/v1/stations/main/sets/{first}/replays.zip")
        assert len(zipfile.ZipFile(io.BytesIO(body)).namelist()) == 3
        for path in (f"/v1/stations/main/sets/{'0' * 32}/replays.zip", f"/v1/stations/other/sets/{first}/replays.zip"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(daemon.url + path, timeout=10)
            with refused.value as error:
                assert error.code == 404


@pytest.mark.slow
def test_folder_that_cannot_be_written_is_named_and_tried_again(tmp_path: Path) -> None:
    with daemon_with(tmp_path) as daemon:
        (tmp_path / "zips").write_text("in the way")
        play(tmp_path, NOON)
        play(tmp_path, NOON + 5)
        daemon.until(lambda: "handover: the zip of a set cannot be written" in readiness(daemon))
        daemon.until(lambda: re.search(r"handover_failures_total [1-9]", daemon.text("/metrics")) is not None)
        assert "slpstream_handover_waiting_sets 1.0" in daemon.text("/metrics")
        assert [line for line in daemon.lines if line.get("event") == "set cannot be handed on"]
    (tmp_path / "zips").unlink()
    with daemon_with(tmp_path) as daemon:  # what waited was remembered
        daemon.until(lambda: zips(tmp_path) == ["Ann (Fox) vs Bob (Fox).zip"])
        daemon.until(lambda: "handover" not in readiness(daemon))


def test_correction_within_the_delay_opens_the_set_again(tmp_path: Path) -> None:
    with daemon_with(tmp_path, delay_seconds=3600) as daemon:
        play(tmp_path, NOON)
        play(tmp_path, NOON + 5)
        daemon.until(lambda: "slpstream_handover_waiting_sets 1.0" in daemon.text("/metrics"))
        operate(daemon, {"bestOf": 5})
        daemon.until(lambda: "slpstream_handover_waiting_sets 0.0" in daemon.text("/metrics"))
        assert zips(tmp_path) == []


def test_set_that_ended_while_no_daemon_ran(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    for minute in (0, 5, 10):
        play(tmp_path, NOON + minute)
    with daemon_with(tmp_path) as daemon:
        daemon.until(lambda: bool(zips(tmp_path)))
        daemon.until(lambda: "slpstream_handover_waiting_sets 0.0" in daemon.text("/metrics"))
        assert daemon.get("/v1/stations/main/set")["state"] == "running"
        assert zips(tmp_path) == ["Ann (Fox) vs Bob (Fox).zip"]


def test_old_sets_found_in_a_folder_are_not_handed_on(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    for minute in (0, 5):
        play(tmp_path, minute)
        os.utime(tmp_path / "main" / f"Game_{minute}.slp", (DAY, DAY))
    with daemon_with(tmp_path) as daemon:
        daemon.until(lambda: daemon.get("/v1/stations/main/set").get("state") == "over")
        daemon.until(lambda: "slpstream_handover_waiting_sets 0.0" in daemon.text("/metrics"))
        play(tmp_path, NOON)
        play(tmp_path, NOON + 5)
        daemon.until(lambda: len(zips(tmp_path)) == 1)
    assert time.time() - DAY > 12 * 3600


def readiness(daemon: DaemonProcess) -> str:
    try:
        return daemon.text("/readyz")
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()
