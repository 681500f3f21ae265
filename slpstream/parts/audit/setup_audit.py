"""The setup audit of a daemon. Whenever the newest games of the stations in the index change, it compares them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec
import trio

from slpstream.config import Config
from slpstream.formats.registry import describe_setup
from slpstream.model.clock_skew import clock_skew
from slpstream.model.prepared import prepared
from slpstream.model.setup import CodeList, Pacing
from slpstream.model.summary import GameSummary, IndexedGame
from slpstream.parts.audit.clock import said_ms
from slpstream.parts.audit.compare import Limits, audit
from slpstream.parts.audit.findings import Audit
from slpstream.parts.audit.indexed_setups import SetupRow, newest_setups
from slpstream.parts.audit.part import Audit as AuditConfig
from slpstream.parts.audit.played_games import PlayedGame
from slpstream.parts.interface import Host, RunningPart

_GAMES = 20
"""Number of games of a station that are searched for comparable ones."""
_GATHER_SECONDS = 5.0
"""Changes within this time are audited together, after the beginning of a game is over."""


@prepared
class _Started(msgspec.Struct, rename="camel"):
    """The part of a summary that tells us when the game began."""

    started_at: str = ""


class SetupAudit(RunningPart):
    """The audit of one daemon's stations."""

    def __init__(self, host: Host, gather_seconds: float = _GATHER_SECONDS) -> None:
        self._host = host
        self._config = host.config.section(AuditConfig)
        self._gather_seconds = gather_seconds
        self._games: dict[str, list[PlayedGame]] = {}
        self._names: Mapping[str, str] = {}
        self._changed: set[str] = set()
        self._all_changed = True
        self._work = trio.Event()
        """Set after a change. Only `run` replaces it."""
        self._looking = trio.Lock()
        self._audit = Audit(setups=[], findings=[])
        self._differences: Mapping[tuple[str, ...], float] = {}

    def open(self) -> None:
        """Export the differences."""
        self._host.metrics.bind_all("slpstream_setup_differences", lambda: self.differences)

    @property
    def differences(self) -> Mapping[tuple[str, ...], float]:
        """How many lasting differences there are, by station and value. You can read this from any thread."""
        return self._differences

    def configure(self, config: Config) -> None:
        """Use another configuration from now on."""
        self._config = config.section(AuditConfig)
        self.games_changed(None)

    def games_changed(self, station: str | None) -> None:
        """Note that the games of the given station have changed, or those of any station if you pass `None`."""
        if station is None:
            self._all_changed = True
        else:
            self._changed.add(station)
        self._work.set()

    async def run(self) -> None:
        """Keep the audit up to date until cancelled."""
        while True:
            await trio.sleep(self._gather_seconds)
            self._work = trio.Event()
            await self.audit()
            await self._work.wait()

    async def audit(self) -> Audit:
        """Compare all stations."""
        async with self._looking:
            names = self.compared_stations()
            stations = list(names)
            changed, self._changed = self._changed, set()
            if self._all_changed:
                changed = set(stations)
            stale = [station for station in stations if station in changed or station not in self._games]
            gone = self._games.keys() - set(stations)
            self._all_changed = False
            if not stale and not gone and names == self._names:
                return self._audit
            found: dict[str, list[PlayedGame]] = {}
            try:
                for station in stale:
                    found[station] = await self._newest_games(station)
                games = {station: (found if station in found else self._games)[station] for station in stations}
                self._audit = await trio.to_thread.run_sync(audit, games, self._limits(), names)
            except BaseException:
                self._changed |= set(stale)
                self._work.set()
                raise
            self._games, self._names = games, names
            self._differences = {
                (setup.setup, finding.name): 1.0
                for setup in self._audit.setups
                for finding in self._audit.differences
                if finding.lasting and setup.setup in finding.setups
            }
            return self._audit

    def compared_stations(self) -> dict[str, str]:
        """Return the names of the stations that should be compared, by id."""
        return {station.id: station.name for station in self._host.stations.lasting_stations}

    def is_recorded(self, station: str) -> bool:
        """Whether the games of the given station are recorded by the daemon.

        If they are, their times come from the daemon's clock, so they don't tell us anything about the clock of the
        console.
        """
        running = self._host.stations.get(station)
        return running is not None and running.config.is_recorded

    def _limits(self) -> Limits:
        config = self._config
        return Limits(
            games=config.games,
            hours=config.hours,
            now_ms=round(1000 * time.time()),
            clock_seconds=config.clock_seconds,
            frame_rate=config.frame_rate,
            stutters_per_minute=config.stutters_per_minute,
        )

    async def _newest_games(self, station: str) -> list[PlayedGame]:
        """Return the newest games of the given station, beginning with the newest.

        Those that are compared also have their codes.
        """
        await self._host.index.written()
        rows = await self._host.index.read(lambda database: newest_setups(database, station, _GAMES)) or []
        clock_hours = None if self.is_recorded(station) else self._config.hours
        games = await trio.to_thread.run_sync(_played_games, rows, {}, clock_hours)
        codes: dict[str, CodeList] = {}
        comparable = [row for row, game in zip(rows, games, strict=True) if not game.revealed.incomparable]
        for row in comparable[: self._config.games]:
            found = await self._host.games.gecko_codes.codes(
                row.game_id, row.codes, [row.path], has_ended=row.reason is not None
            )
            if found is not None:
                codes[row.game_id] = found
        return await trio.to_thread.run_sync(_played_games, rows, codes, clock_hours) if codes else games


def _played_games(
    rows: Sequence[SetupRow], codes: Mapping[str, CodeList], clock_hours: float | None
) -> list[PlayedGame]:
    """Return the games, beginning with the newest. If we have seen games arrive, the newest of these has the skew of
    the console's clock.

    Games that have arrived more than `clock_hours` before it don't count for the skew. If `clock_hours` is `None`, the
    games don't tell us anything about the clock.
    """
    games = [_played_game(row, codes.get(row.game_id)) for row in rows]
    if clock_hours is None:
        return games
    since_ms = max((row.arrived_at_ms or 0 for row in rows), default=0) - 3_600_000 * clock_hours
    skew = clock_skew(_indexed(row) for row in rows if (row.arrived_at_ms or 0) >= since_ms)
    for place, (row, game) in enumerate(zip(rows, games, strict=True)):
        if skew is not None and row.arrived_at_ms is not None and not game.revealed.incomparable:
            games[place] = msgspec.structs.replace(game, skew_seconds=skew.seconds)
            break
    return games


def _indexed(row: SetupRow) -> IndexedGame:
    return IndexedGame(
        game_id=row.game_id,
        summary=GameSummary(),
        standings={},
        listed_at_ms=row.listed_at_ms,
        arrived_at_ms=row.arrived_at_ms,
        said_at_ms=said_ms(msgspec.json.decode(row.summary, type=_Started).started_at),
        duration_seconds=row.duration_seconds,
    )


def _played_game(row: SetupRow, codes: CodeList | None) -> PlayedGame:
    metadata = None if row.metadata is None else msgspec.json.decode(row.metadata)
    return PlayedGame(
        game_id=row.game_id,
        at_ms=row.listed_at_ms,
        revealed=describe_setup(row.format, msgspec.json.decode(row.settings), codes, metadata),
        duration_seconds=row.duration_seconds,
        pacing=None if row.pacing is None else msgspec.json.decode(row.pacing, type=Pacing),
    )
