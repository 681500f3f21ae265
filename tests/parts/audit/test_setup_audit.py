"""The setup audit of a daemon: when it compares the games, and which games show the clock of a console."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.api import read_codes, read_game
from slpstream.config import Config
from slpstream.daemon.game_codes import GameCodes
from slpstream.daemon.games import DaemonGames
from slpstream.model.setup import Pacing
from slpstream.parts.audit.findings import Audit
from slpstream.parts.audit.part import Audit as AuditConfig
from slpstream.parts.audit.setup_audit import SetupAudit
from slpstream.store import FILE_NAME, GameIndex, open_database
from tests.daemons.hosts import host_of
from tests.daemons.station import until
from tests.parts.audit.fleet import FIRST_GAME_AT, USUAL, Console, game

pytestmark = pytest.mark.trio
Read = Callable[[Callable[[Any], Any]], Awaitable[Any]]
ODD = Console(stocks=3)
AHEAD = Console(clock_minutes=37)


@asynccontextmanager
async def indexed(folder: Path) -> AsyncIterator[GameIndex]:
    """A running index, for at most 30 seconds."""
    index = GameIndex(open_database(folder / FILE_NAME), None)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            yield index
            nursery.cancel_scope.cancel()


def played(
    index: GameIndex, folder: Path, station: str, console: Console, number: int = 0, *, pacing: Pacing | None = None
) -> None:
    """Index a finished game of a station, which arrived at its start by the clock of a usual console."""
    path = folder / f"{station} {number}.slp"
    path.write_bytes(game(console, number, seconds=150.0, random_seed=zlib.crc32(path.name.encode())))
    status = path.stat()
    arrived_at_ms = 1000 * (FIRST_GAME_AT + 600 * number)
    index.played(
        station, path, status.st_mtime_ns, status.st_size, read_game(path).record(), arrived_at_ms, pacing=pacing
    )


def cancelling(request: trio.CancelScope, read: Read) -> Read:
    """Cancel a request when it reads games."""

    async def cancelled(work: Callable[[Any], Any]) -> Any:
        request.cancel()
        return await read(work)

    return cancelled


def audit_of(
    index: GameIndex, stations: Sequence[str], config: AuditConfig | None = None, *, recorded: str = ""
) -> SetupAudit:
    """The audit of these stations. The daemon records the games of those in `recorded` itself."""
    host = host_of(Config(parts={"audit": [config or AuditConfig()]}))
    codes = GameCodes(index, read_codes)
    host.index, host.games = index, DaemonGames(index, host.hub, trio.CapacityLimiter(1), list, codes)

    class AuditOfStations(SetupAudit):
        def compared_stations(self) -> dict[str, str]:
            return {each: each for each in stations}

        def is_recorded(self, station: str) -> bool:
            return station in recorded

    return AuditOfStations(host, gather_seconds=0.01)


def clocks(found: Audit) -> list[str]:
    """The values of the setups' clocks."""
    return [value.text for setup in found.setups for value in setup.values if value.name == "clock"]


async def test_background_completes_the_work_of_a_cancelled_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with indexed(tmp_path) as index, trio.open_nursery() as nursery:
        for station in "abcde":
            played(index, tmp_path, station, ODD if station in "de" else USUAL)
        await index.written()
        stations = ["a", "b", "c", "d"]
        audit = audit_of(index, stations)
        nursery.start_soon(audit.run)
        await until(lambda: set(audit.differences) == {("d", "stocks")})
        stations.append("e")
        with trio.CancelScope() as request:
            monkeypatch.setattr(index, "read", cancelling(request, index.read))
            await audit.audit()
        assert request.cancelled_caught
        await until(lambda: set(audit.differences) == {("d", "stocks"), ("e", "stocks")})
        nursery.cancel_scope.cancel()


async def test_clock_that_was_set_is_right_after_two_games(tmp_path: Path) -> None:
    async with indexed(tmp_path) as index:
        for station in "abc":
            played(index, tmp_path, station, USUAL)
        for number in range(8):
            played(index, tmp_path, "d", AHEAD, number)
        audit = audit_of(index, list("abcd"))
        [difference] = (await audit.audit()).differences
        assert difference.words == "d differs from the other 3: clock 37 min ahead, elsewhere exact"
        for number in (8, 9):
            played(index, tmp_path, "d", USUAL, number)
        audit.games_changed("d")
        assert (await audit.audit()).differences == []


@pytest.mark.parametrize(("hours", "clock"), [(24.0, "37 min ahead"), (1.0, "exact")])
async def test_old_games_do_not_count_for_the_clock(tmp_path: Path, hours: float, clock: str) -> None:
    async with indexed(tmp_path) as index:
        for number in range(8):
            played(index, tmp_path, "a", AHEAD, number)
        played(index, tmp_path, "a", USUAL, 20)
        assert clocks(await audit_of(index, ["a"], AuditConfig(hours=hours)).audit()) == [clock]


async def test_stations_that_the_daemon_records_have_no_clock(tmp_path: Path) -> None:
    """Consoles with the local time of UTC+2, and others whose replays have the time of the daemon."""
    async with indexed(tmp_path) as index:
        for station in "abcde":
            played(index, tmp_path, station, USUAL if station in "cde" else Console(clock_minutes=120))
        together = await audit_of(index, list("abcde")).audit()
        assert [each.setups for each in together.differences] == [["a"], ["b"]]
        apart = await audit_of(index, list("abcde"), recorded="cde").audit()
        assert clocks(apart) == ["2 h ahead"] * 2
        assert apart.differences == []


@pytest.mark.parametrize(
    ("pacing", "what"),
    [
        (Pacing(frames_per_second=57.3, stutters=0, late_milliseconds=5, seconds=150.0), "frame_rate"),
        (Pacing(frames_per_second=60.0, stutters=90, late_milliseconds=80, seconds=150.0), "stutters"),
    ],
)
async def test_uneven_frames_are_a_difference(tmp_path: Path, pacing: Pacing, what: str) -> None:
    even = Pacing(frames_per_second=59.9, stutters=2, late_milliseconds=10, seconds=150.0)
    async with indexed(tmp_path) as index:
        for station in "abcd":
            for number in range(3):
                played(index, tmp_path, station, USUAL, number, pacing=pacing if station == "d" else even)
        audit = audit_of(index, list("abcd"))
        found = await audit.audit()
        assert [(each.setups, each.name) for each in found.findings] == [(["d"], what)]
