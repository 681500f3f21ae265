"""Values that only a daemon measures: a console's clock and the pacing of its frames, from the files to the API."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path

from slpstream.api import open_replay
from slpstream.simulate.bundled import as_another_game
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DaemonProcess, configured
from tests.sets.games import Seat, replay

ODD = "04"
SET_OF_ODD = f"/v1/stations/{ODD}/set"
STATIONS = ("01", "02", "03", ODD)
AHEAD = timedelta(minutes=37)
NEAR = timedelta(seconds=60)
"""Around the time of an arrival, on a busy machine."""
SET = 3
"""Games of a set: one player wins them all."""


def measuring(folder: Path) -> AbstractContextManager[DaemonProcess]:
    """A daemon with the subfolders of `folder / "fleet"` as stations."""
    return configured(
        folder,
        f"""
        [handover]
        folder = '{folder / "zips"}'
        delay_seconds = 0.0
        [sets]
        best_of = {2 * SET - 1}
        [watch]
        scan_seconds = 0.2
        [[stations]]
        id = "*"
        folder = '{folder / "fleet"}'
        """,
    )


class Setup:
    """A console that writes its games into the folder of a station, piece by piece."""

    def __init__(self, daemon: DaemonProcess, folder: Path, station: str, seeds: Iterator[int]) -> None:
        self._daemon = daemon
        self._folder = folder / "fleet" / station
        self._station = station
        self._seeds = seeds
        self._game = replay({0: Seat("Ann", "ANN#1"), 1: Seat("Bob", "BOB#2")}, {0: 2, 1: 0}, seconds=3, minute=0)

    def play(self, ahead: timedelta = timedelta()) -> datetime:
        """Play a game that the daemon sees grow, with a clock that is ahead. Returns the time at which it began."""
        began = datetime.now(UTC)
        seed = next(self._seeds)
        data = as_another_game(self._game, random_seed=seed, started_at=began + ahead)
        game = PlayedGame(self._folder / f"Game_{seed}.slp", data)
        game.write(len(data) // 2)
        self._daemon.until(lambda: self._state() == "playing")
        game.end()
        self._daemon.until(lambda: self._state() == "idle")
        return began

    def _state(self) -> object:
        return self._daemon.get(f"/v1/stations/{self._station}")["state"]


def differing(daemon: DaemonProcess) -> list[tuple[list[str], str]]:
    return [(each["setups"], each["name"]) for each in daemon.get("/v1/audit")["findings"] if each["kind"] != "changed"]


def lasting(daemon: DaemonProcess) -> set[tuple[str, ...]]:
    """Station and value of each sample of the metric."""
    found = re.findall(r"^slpstream_setup_differences{(.*)} 1.0$", daemon.text("/metrics"), re.MULTILINE)
    return {tuple(re.findall(r'="(\w+)"', labels)) for labels in found}


def zip_of(daemon: DaemonProcess, set_id: str) -> bytes:
    status, body = daemon.request("GET", f"/v1/stations/{ODD}/sets/{set_id}/replays.zip")
    assert status == 200
    return bytes(body)


def starts(body: bytes, folder: Path) -> tuple[datetime, list[datetime]]:
    """When a set began and when its games began, as its zip has it."""
    folder.mkdir()
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        archive.extractall(folder)
    [document] = [name for name in archive.namelist() if name.endswith(".json")]
    context = json.loads((folder / document).read_bytes())
    said = [(open_replay(path).metadata or {})["startAt"] for path in sorted(folder.glob("*.slp"))]
    return datetime.fromtimestamp(context["startMs"] / 1000, UTC), [datetime.fromisoformat(each) for each in said]


def assert_near(found: list[datetime], expected: list[datetime]) -> None:
    assert len(found) == len(expected)
    assert all(abs(one - other) < NEAR for one, other in zip(found, expected, strict=True)), (found, expected)


def test_clock_that_is_ahead_until_it_is_set(tmp_path: Path) -> None:
    for station in STATIONS:
        (tmp_path / "fleet" / station).mkdir(parents=True)
    seeds = count(1)
    with measuring(tmp_path) as daemon:
        *others, odd = (Setup(daemon, tmp_path, station, seeds) for station in STATIONS)
        for other in others:
            other.play()
        began = [odd.play(AHEAD) for _ in range(SET)]

        daemon.until(lambda: differing(daemon) == [([ODD], "clock")])
        [finding] = daemon.get("/v1/audit")["findings"]
        assert re.fullmatch(r"3[67] min ahead", finding["text"])
        assert finding["words"].startswith(f"setup {ODD} differs from the other 3: clock 3")
        daemon.until(lambda: lasting(daemon) == {(ODD, "clock")})

        daemon.until(lambda: daemon.get(SET_OF_ODD)["state"] == "over")
        first = daemon.get(SET_OF_ODD)["setId"]
        daemon.until(lambda: "slpstream_handover_zips_total 1.0" in daemon.text("/metrics"))
        [path] = (tmp_path / "zips").glob("*.zip")
        set_began, games_began = starts(path.read_bytes(), tmp_path / "handed on")
        assert_near([set_began, *games_began], [began[0], *began])
        breaks, found_breaks = ([b - a for a, b in pairwise(each)] for each in (began, games_began))
        # Replays have whole seconds.
        assert all(abs(a - b) <= timedelta(seconds=1) for a, b in zip(breaks, found_breaks, strict=True))

        after = [odd.play() for _ in range(2)]
        daemon.until(lambda: differing(daemon) == [])
        daemon.until(lambda: lasting(daemon) == set())
        daemon.until(lambda: len(daemon.get(SET_OF_ODD)["games"]) == len(after))
        second = daemon.get(SET_OF_ODD)["setId"]
        assert second != first
        set_began, games_began = starts(zip_of(daemon, second), tmp_path / "second")
        assert_near([set_began, *games_began], [after[0], *after])
        set_began, games_began = starts(zip_of(daemon, first), tmp_path / "first once more")
        assert_near([set_began, *games_began], [began[0], *began])
