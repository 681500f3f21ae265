"""Hands on the replays of sets: as a zip on demand, and into a folder when a set ends.

A zip in the folder appears whole, under its final name, and once: what is being written, what waits and what is done is
remembered beyond the end of the run.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import trio

from slpstream.config import Handover as HandoverConfig
from slpstream.daemon.sets import StationSets
from slpstream.model.bracket_facts import SetContext
from slpstream.model.errors import StoreError
from slpstream.model.prepared import prepared
from slpstream.model.summary import GameSummary, IndexedGame
from slpstream.sets import SetScore
from slpstream.sets.clock_skew import ClockSkew, skew_of_set
from slpstream.sources.archives.packed import open_replay_file, replay_name
from slpstream.store import GameIndex, StoredGame
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger
from slpstream.system.member_paths import SEPARATOR
from slpstream.system.metrics import Metrics
from slpstream.tournament.handover.handed_set import HandedSet, ReplayFile, Templates, handed_set

_KEY = "handover"
"""Key of what was handed on."""
_SKEW_GAMES = 64
_RETRY_SECONDS = 30.0
_MAX_WAITING = 500
_MAX_DONE = 5000
_LOOK_PAUSE_SECONDS = 5.0
_PATIENT_SECONDS = 60.0
"""How long old files and the bracket are read before sets are handed on. The newest files are read first."""
_POLL_SECONDS = 0.2
_MAX_AGE_SECONDS = 12 * 3600.0
"""Sets that ended earlier are old ones that a station has found in its folder, and are not handed on by themselves."""

BracketOf = Callable[[str, str], SetContext | None]
"""(station, id of a set) to what a bracket knows about it."""


@prepared
class _Remembered(msgspec.Struct):
    """The sets that are remembered beyond the end of a run, by id."""

    done: list[str] = []
    writing: dict[str, str] = {}
    """The names of zips that are about to appear."""
    waiting: dict[str, str] = {}
    """The stations of sets that are over and not handed on yet."""


class Handover:
    """The handing on of replays of one daemon, see `web.handover.Replays`."""

    def __init__(
        self,
        config: HandoverConfig,
        index: GameIndex,
        sets: StationSets,
        has_station: Callable[[str], bool],
        metrics: Metrics,
        errors: InternalErrors | None = None,
        knows_sets: Callable[[], bool] = lambda: True,
        *,
        retry_seconds: float = _RETRY_SECONDS,
        look_pause_seconds: float = _LOOK_PAUSE_SECONDS,
    ) -> None:
        """`knows_sets` returns whether sets can be handed on: the index has the games of all stations, and the bracket
        was asked for its sets."""
        self._config = config
        self._index = index
        self._sets = sets
        self._has_station = has_station
        self._metrics = metrics
        self._errors = errors or InternalErrors()
        self._knows_sets = knows_sets
        self._retry_seconds = retry_seconds
        self._look_pause_seconds = look_pause_seconds
        self._templates = Templates(config.replay_name, config.zip_name, zone=None)
        self._folder = Path(config.folder).expanduser()
        self._limiter = trio.CapacityLimiter(1)
        self._remembered = _Remembered()
        self._loaded = False
        self._over: dict[str, str] = {}
        """Sets that were over before `run` began, with their stations."""
        self._due: dict[str, float] = {}
        """When to hand on each set that waits, by trio's clock."""
        self._last_changes: dict[str, int] = {}
        """The id of the newest change by an operator, by station."""
        self._changed: dict[str, None] = {}
        """Stations whose earlier sets have to be looked at, in order."""
        self._looking = trio.Event()
        self._given_up: set[str] = set()
        """Sets that are not tried again in this run, because a bug would only happen again or too many sets wait."""
        self._work = trio.Event()
        self._problems: dict[str, str] = {}
        """Why sets that wait could not be handed on, by set; the newest comes last."""
        self.bracket_of: BracketOf = lambda station, set_id: None
        """Tells what a bracket knows about a set."""
        self._log = get_logger()

    @property
    def folder(self) -> Path | None:
        """The folder that zips are written into; `None` if there is none."""
        return self._folder if self._config.folder else None

    def not_ready(self) -> list[str]:
        """Why zips cannot be written; empty if they can."""
        return [f"handover: {what}" for what in list(self._problems.values())[-1:]]

    @property
    def waiting(self) -> int:
        """Number of sets that are over and not handed on yet."""
        return len(self._due)

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of a station. Returns at once."""
        last_change = payload.get("lastChange", 0)
        if self._last_changes.get(station) != last_change:  # it can be about an earlier set
            self._last_changes[station] = last_change
            self.games_changed(station)
        set_id = payload.get("setId")
        if self._config.folder and set_id is not None:
            self._take(station, set_id, over=payload["state"] == "over")

    def games_changed(self, station: str) -> None:
        """Take note that games of a station were indexed, maybe those of earlier sets. Returns at once."""
        if self._config.folder:
            self._changed[station] = None
            self._looking.set()

    def _take(self, station: str, set_id: str, *, over: bool) -> None:
        if over:
            self._over[set_id] = station
        else:
            self._over.pop(set_id, None)
            self._given_up.discard(set_id)
            if set_id in self._due:  # a correction has opened it again
                self._forget(set_id)
        self._work.set()

    async def replays(self, station: str, set_id: str) -> tuple[str, BinaryIO, int] | None:
        """The zip of a set, see `web.handover.Replays`."""
        score = await self._sets.score_of_set(station, set_id) if self._has_station(station) else None
        if score is None:
            return None
        handed = await self._handed(station, score)
        file = await trio.to_thread.run_sync(self._temporary_zip, handed, limiter=self._limiter)
        size_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
        return f"{handed.name}.zip", file, size_bytes

    async def run(self) -> None:
        """Write a zip for each set that ends, until cancelled."""
        if not self._config.folder:
            return
        if not self._loaded:  # after a bug, what this run knows is newer
            self._remembered = _decoded(await self._index.remembered(_KEY))
            self._loaded = True
        for set_id in self._remembered.waiting:
            self._due.setdefault(set_id, trio.current_time())
        with trio.move_on_after(_PATIENT_SECONDS):  # a set of which some games are not known yet looks like another one
            while not self._knows_sets():  # noqa: ASYNC110 -- stations, index and bracket have no common event
                await trio.sleep(_POLL_SECONDS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look_for_ever)
            await self._hand_on_for_ever()

    async def _look_for_ever(self) -> None:
        """Find the sets that have ended without having been the newest of their station then.

        They were played while no daemon ran, were read later than the next one, or a correction has ended them.
        """
        while True:
            await self._looking.wait()
            self._looking = trio.Event()
            stations, self._changed = list(self._changed), {}
            for station in stations:
                with self._errors.contain("handover", station=station):
                    await self._look(station)
            await trio.sleep(self._look_pause_seconds)

    async def _look(self, station: str) -> None:
        oldest_ms = int((time.time() - _MAX_AGE_SECONDS) * 1000)
        try:
            found = await self._sets.sets_since(station, oldest_ms)
        except StoreError as error:
            self._log.warning("earlier sets cannot be read", station=station, what=str(error))
            self.games_changed(station)
            return
        for each in found:
            if each.games:
                is_old = max(game.written_at_ms for game in each.games) < oldest_ms
                self._take(station, each.games[0].game_id, over=each.over and not is_old)

    async def _hand_on_for_ever(self) -> None:
        while True:
            self._work = trio.Event()
            self._take_over()
            with trio.move_on_after(max(0.0, min(self._due.values(), default=math.inf) - trio.current_time())):
                await self._work.wait()
            for set_id in [each for each, at in self._due.items() if at <= trio.current_time()]:
                station = self._remembered.waiting.get(set_id)
                if station is None:
                    continue  # a correction has opened it again meanwhile
                with self._errors.contain("handover", station=station, set=set_id) as contained:
                    await self._hand_on(station, set_id)
                if contained.error_id is not None:
                    self._give_up(set_id)

    def _take_over(self) -> None:
        """Let the sets that have just ended wait for their turn."""
        ended, self._over = self._over, {}
        changed = False
        for set_id, station in ended.items():
            if set_id in self._remembered.done or set_id in self._due or set_id in self._given_up:
                continue
            if len(self._due) >= _MAX_WAITING:
                oldest = next(iter(self._due))
                self._log.error("too many sets wait to be handed on, one is given up", set=oldest)
                self._give_up(oldest)
            self._due[set_id] = trio.current_time() + self._config.delay_seconds
            self._remembered.waiting[set_id] = station
            changed = True
        if changed:
            self._remember()

    async def _hand_on(self, station: str, set_id: str) -> None:
        try:
            score = await self._sets.score_of_set(station, set_id)
            if score is None or score.state != "over" or self._has_turn(score, set_id):
                self._forget(set_id)
                self._remember()
                return
            handed = await self._handed(station, score)
            if handed.members and not self._is_old(handed):
                await self._write(station, set_id, handed)
        except (OSError, StoreError) as error:
            what = f"the zip of a set cannot be written: {error}"
            if what != self._problems.pop(set_id, None):
                self._log.error("set cannot be handed on", station=station, set=set_id, what=str(error))
            self._metrics.counter("slpstream_handover_failures_total").inc()
            if self._remembered.writing.pop(set_id, None) is not None:  # another set may take the name meanwhile
                self._remember()
            if set_id in self._due:  # else a correction has opened it again meanwhile
                self._due[set_id] = trio.current_time() + self._retry_seconds
                self._problems[set_id] = what
            return
        self._forget(set_id)
        ids = dict.fromkeys((set_id, score.set_id or set_id))
        self._remembered.done = [*self._remembered.done, *ids][-_MAX_DONE:]
        self._remember()

    def _has_turn(self, score: SetScore, set_id: str) -> bool:
        """Whether a set is by now part of another one, which has its own turn: earlier games were read, or a correction
        has joined them."""
        return score.set_id != set_id and (score.set_id in self._remembered.done or score.set_id in self._due)

    def _give_up(self, set_id: str) -> None:
        """Leave out a set until the next run."""
        self._metrics.counter("slpstream_handover_failures_total").inc()
        self._given_up.add(set_id)
        self._forget(set_id)
        self._remember()

    def _forget(self, set_id: str) -> None:
        self._due.pop(set_id, None)
        self._problems.pop(set_id, None)
        self._remembered.waiting.pop(set_id, None)
        self._remembered.writing.pop(set_id, None)

    @staticmethod
    def _is_old(handed: HandedSet) -> bool:
        """Whether a set ended long ago, as far as is known: an archive can be much younger than the games in it."""
        loose = [each.replay for each in handed.members if any(map(_is_loose, each.replay.paths))]
        newest_ms = max((replay.written_at_ms for replay in loose), default=0)
        return time.time() - newest_ms / 1000 > _MAX_AGE_SECONDS

    async def _write(self, station: str, set_id: str, handed: HandedSet) -> None:
        folder = self._folder
        known = self._remembered.writing.get(set_id)
        if known is not None and await trio.to_thread.run_sync((folder / known).exists, limiter=self._limiter):
            return  # it appeared just before the last run ended
        taken = [name for other, name in self._remembered.writing.items() if other != set_id]
        name = await trio.to_thread.run_sync(_free_name, folder, handed.name, taken, limiter=self._limiter)
        self._remembered.writing[set_id] = name
        self._remember()
        await self._index.written()
        write = partial(_write_zip_file, folder / name, handed, self._report)
        count = await trio.to_thread.run_sync(write, limiter=self._limiter)
        self._metrics.counter("slpstream_handover_zips_total").inc()
        self._log.info("set handed on", station=station, set=set_id, file=name, replays=count)

    async def _handed(self, station: str, score: SetScore) -> HandedSet:
        """The contents of the zip of a set."""
        payload: dict[str, Any] = msgspec.to_builtins(score)
        found: list[StoredGame] = []
        for game in payload["games"]:
            for game_id in [game["gameId"], *(each["gameId"] for each in game.get("suddenDeaths", ()))]:
                stored = await self._index.game(game_id)
                if stored is not None and stored.files:
                    found.append(stored)
        files = await trio.to_thread.run_sync(_replay_files, found, limiter=self._limiter)
        handed = handed_set(
            payload,
            files,
            skew=await self._skew(station, files.values()),
            bracket=self.bracket_of(station, payload["setId"]),
            templates=self._templates,
        )
        if handed.reason:
            self._log.info(
                "set is handed on without context.json", station=station, set=payload["setId"], why=handed.reason
            )
        if handed.missing:
            self._log.warning(
                "replays of a set are missing", station=station, set=payload["setId"], games=handed.missing
            )
        return handed

    async def _skew(self, station: str, files: Iterable[ReplayFile]) -> ClockSkew | None:
        return skew_of_set([_indexed(each) for each in files], await self._index.played_on(station, _SKEW_GAMES))

    def _temporary_zip(self, handed: HandedSet) -> BinaryIO:
        from slpstream.tournament.handover.archive import write_zip  # noqa: PLC0415 -- loads what makes zips

        opened = tempfile.TemporaryFile("w+b", prefix="slpstream-")  # noqa: SIM115 -- the response closes it
        file = cast(BinaryIO, opened)  # on Windows it is a wrapper
        try:
            write_zip(handed, file, self._report, open_file=open_replay_file)
        except BaseException:
            file.close()
            raise
        return file

    def _report(self, path: Path, what: str) -> None:
        self._log.warning("replay in the zip of a set", file=path.name, what=what)

    def _remember(self) -> None:
        self._index.remember(_KEY, msgspec.to_builtins(self._remembered))


def _decoded(remembered: Any) -> _Remembered:
    try:
        return msgspec.convert(remembered or {}, _Remembered)
    except msgspec.ValidationError:
        return _Remembered()


def _free_name(folder: Path, name: str, taken: Collection[str]) -> str:
    from slpstream.tournament.handover.archive import free_name  # noqa: PLC0415 -- loads what makes zips

    folder.mkdir(parents=True, exist_ok=True)
    return free_name(folder, name, taken)


def _write_zip_file(target: Path, handed: HandedSet, report: Callable[[Path, str], None]) -> int:
    from slpstream.tournament.handover.archive import write_zip_file  # noqa: PLC0415 -- as above

    return write_zip_file(target, handed, report, open_file=open_replay_file)


def _is_loose(path: Path) -> bool:
    """Whether a path is not that of a member of an archive."""
    return SEPARATOR not in os.fspath(path)


def _replay_files(found: Sequence[StoredGame]) -> dict[str, ReplayFile]:
    """The replays of games by their ids. Blocks, because a name can be that of a member of an archive."""
    return {stored.row.game_id: _replay_file(stored) for stored in found}


def _replay_file(stored: StoredGame) -> ReplayFile:
    row, paths = stored.row, [Path(os.fsdecode(file.path)) for file in stored.files]
    summary = msgspec.json.decode(row.summary, type=GameSummary)
    return ReplayFile(
        game_id=row.game_id,
        paths=paths,
        name=replay_name(paths[0]),
        format=row.format,
        summary=summary,
        last_frame=row.last_frame,
        duration_seconds=row.duration_seconds or 0.0,
        said_at_ms=row.started_at_ms if summary.started_at else None,
        arrived_at_ms=row.arrived_at_ms,
        written_at_ms=min(file.mtime_ns for file in stored.files) // 1_000_000,  # copies are younger
    )


def _indexed(replay: ReplayFile) -> IndexedGame:
    return IndexedGame(
        game_id=replay.game_id,
        summary=replay.summary,
        standings={},
        listed_at_ms=replay.written_at_ms,
        arrived_at_ms=replay.arrived_at_ms,
        said_at_ms=replay.said_at_ms,
        duration_seconds=replay.duration_seconds,
    )
