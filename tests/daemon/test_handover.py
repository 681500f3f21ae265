"""Zips of sets from a daemon: on demand, and into a folder when a set ends."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
import zipfile
from contextlib import AbstractContextManager
from email.message import Message
from pathlib import Path

import pytest

from tests.daemons.process import DaemonProcess, configured
from tests.sets.games import Seat, replay
from tests.tournament.handover.validator import problems

ANN_AND_BOB = {0: Seat("Ann", "ANN#1"), 1: Seat("Bob", "BOB#2")}
NOON = 12 * 60 - 600
"""Minutes after 10 o'clock."""


def handing_on(folder: Path) -> AbstractContextManager[DaemonProcess]:
    """A daemon that writes the zips of sets at once."""
    (folder / "main").mkdir(exist_ok=True)
    return configured(
        folder,
        f"""
        [handover]
        folder = '{folder / "zips"}'
        delay_seconds = 0.0
        [watch]
        scan_seconds = 0.2
        """,
        folder / "main",
    )


def play(folder: Path, minute: float) -> None:
    """Put a game that Ann wins into the folder of the station, as if it had been written just now."""
    data = replay(ANN_AND_BOB, {0: 2, 1: 0}, seconds=40, minute=minute)
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


@pytest.mark.slow
def test_zip_on_demand_and_when_a_set_ends_once(tmp_path: Path) -> None:
    with handing_on(tmp_path) as daemon:
        play(tmp_path, NOON)
        daemon.until(lambda: any(side["won"] for side in daemon.get("/v1/stations/main/set").get("sides", [])))
        assert (
            daemon.request("PATCH", "/v1/stations/main/set", {"round": "Winners Final", "event": "Singles"})[0] == 200
        )
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
    with handing_on(tmp_path) as daemon:  # a restart writes nothing twice, and a set of the same people is another one
        play(tmp_path, NOON + 10)
        play(tmp_path, NOON + 15)
        daemon.until(lambda: len(zips(tmp_path)) == 2)
        assert zips(tmp_path) == ["Singles - Ann (Fox) vs Bob (Fox).zip", "Singles WF - Ann (Fox) vs Bob (Fox).zip"]
        body, _ = fetched(daemon, f"/v1/stations/main/sets/{first}/replays.zip")
        assert len(zipfile.ZipFile(io.BytesIO(body)).namelist()) == 3
        for path in (f"/v1/stations/main/sets/{'0' * 32}/replays.zip", f"/v1/stations/other/sets/{first}/replays.zip"):
            assert daemon.status(path) == 404
