"""Export the replays of sets, either as a zip if someone asks for it, or into a folder when a set ends.

A zip only appears in the folder when it is complete, under its final name. This happens exactly once, even if the
daemon is killed while it is writing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import trio

from slpstream.model.errors import StoreError
from slpstream.parts.handover.contents import SetContents
from slpstream.parts.handover.ended_sets import MAX_AGE_SECONDS, EndedSets
from slpstream.parts.handover.handed_set import HandedSet, Templates
from slpstream.parts.handover.part import Handover
from slpstream.parts.handover.waiting_sets import WaitingSets
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import SetContexts, SetZips
from slpstream.sets import SetScore
from slpstream.system.logs import get_logger
from slpstream.system.member_paths import SEPARATOR

_RETRY_SECONDS = 30.0
_LOOK_PAUSE_SECONDS = 5.0
_PATIENT_SECONDS = 60.0
"""The longest wait for old files and the bracket before sets are exported. The newest files are read first."""
_POLL_SECONDS = 0.2


class ReplayZips(RunningPart):
    """Makes zips of the replays for the sets of one daemon."""

    def __init__(
        self,
        host: Host,
        *,
        retry_seconds: float = _RETRY_SECONDS,
        look_pause_seconds: float = _LOOK_PAUSE_SECONDS,
    ) -> None:
        self._host = host
        self._sets = host.sets
        self._errors = host.errors
        self._retry_seconds = retry_seconds
        self._look_pause_seconds = look_pause_seconds
        self._config = config = host.config.section(Handover)
        self.folder = Path(config.folder).expanduser() if config.folder else None
        """The folder of the zips, or `None` if sets are not exported automatically."""
        self._limiter = trio.CapacityLimiter(1)
        self._last_changes: dict[str, int] = {}
        """The id of the newest change by an operator, by station."""
        self._log = get_logger()
        host.provide(SetZips, self)

    def open(self) -> None:
        """Begin to collect sets from the index. We do this here because the index exists now."""
        config, index = self._config, self._host.index
        self._contents = SetContents(index, Templates(config.replay_name, config.zip_name, zone=None), self._limiter)
        self._waiting = WaitingSets(index, config.delay_seconds)
        self._ended = EndedSets(self._sets, self._waiting, self._errors, self._look_pause_seconds)
        self._host.metrics.bind("slpstream_handover_waiting_sets", lambda: float(self.waiting))

    def not_ready(self) -> list[str]:
        """Return why zips can't be written. If they can, the list is empty."""
        problem = self._waiting.newest_problem
        return [] if problem is None else [f"handover: {problem}"]

    @property
    def waiting(self) -> int:
        """How many sets are over but don't have a zip yet."""
        return len(self._waiting)

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Note the payload of a `set` message of the given station."""
        last_change = payload.get("lastChange", 0)
        if self._last_changes.get(station) != last_change:  # it can be about an earlier set
            self._last_changes[station] = last_change
            self.games_changed(station)
        set_id = payload.get("setId")
        if self.folder is not None and set_id is not None:
            self._waiting.note(set_id, station, over=payload["state"] == "over")

    def games_changed(self, station: str | None) -> None:
        """Note that some games of the given station were indexed. They might belong to earlier sets."""
        if self.folder is not None and station is not None:
            self._ended.look_at(station)

    async def replays(self, station: str, set_id: str) -> tuple[str, BinaryIO, int] | None:
        """Return the name of a set's zip, an open file with it, and its size in bytes. If there is no such set, this
        returns `None`.

        Raises `StoreError` and `OSError`.
        """
        from slpstream.parts.handover import zips  # noqa: PLC0415 -- loads the writer of zips

        score = await self._sets.score_of_set(station, set_id) if self._has_sets(station) else None
        if score is None:
            return None
        handed = await self._contents_of(station, score)
        file = await trio.to_thread.run_sync(zips.temporary_zip, handed, self._report, limiter=self._limiter)
        size_bytes = file.seek(0, os.SEEK_END)
        file.seek(0)
        return f"{handed.name}.zip", file, size_bytes

    async def run(self) -> None:
        """Write a zip for each set that ends, until cancelled. If a bug has ended this, you can call it again."""
        if self.folder is None:
            return
        await self._waiting.load()
        with trio.move_on_after(_PATIENT_SECONDS):  # a set looks like another one until all of its games are known
            while not self._can_export():  # noqa: ASYNC110 -- stations, index and bracket have no common event
                await trio.sleep(_POLL_SECONDS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ended.run)
            await self._write_for_ever(self.folder)

    def _has_sets(self, station: str) -> bool:
        """Whether there's a station with this name whose games count."""
        return station in self._host.stations and not self._host.stations.is_temporary(station)

    def _can_export(self) -> bool:
        """Whether the index contains the games of all stations, and the bracket was asked for its sets."""
        contexts = self._host.find(SetContexts)
        return self._host.has_read_old_files() and (contexts is None or contexts.has_looked)

    async def _write_for_ever(self, folder: Path) -> None:
        while True:
            for set_id in self._waiting.admit():
                self._log.error("too many sets wait to be exported; one is given up", set=set_id)
                self._count_failure()
            await self._waiting.wait()
            for set_id in self._waiting.due_now():
                station = self._waiting.station_of(set_id)
                if station is None:
                    continue  # a correction has reopened it meanwhile
                with self._errors.contain("handover", station=station, set=set_id) as contained:
                    await self._export(folder, station, set_id)
                if contained.error_id is not None:
                    self._waiting.give_up(set_id)
                    self._count_failure()

    async def _export(self, folder: Path, station: str, set_id: str) -> None:
        try:
            score = await self._sets.score_of_set(station, set_id)
            if score is None or score.state != "over" or self._is_part_of_other(score, set_id):
                self._waiting.drop(set_id)
                return
            handed = await self._contents_of(station, score)
            if handed.members and not _is_old(handed):
                await self._write(folder, station, set_id, handed)
        except (OSError, StoreError) as error:
            problem = f"the zip of a set cannot be written: {error}"
            if self._waiting.retry(set_id, problem, self._retry_seconds):
                self._log.error("set cannot be exported", station=station, set=set_id, what=str(error))
            self._count_failure()
        else:
            self._waiting.finish(set_id, score.set_id or set_id)

    def _is_part_of_other(self, score: SetScore, set_id: str) -> bool:
        """Whether a set has become part of another one, which has a zip of its own.

        This can happen if earlier games were read, or if a correction has joined the sets.
        """
        return score.set_id is not None and score.set_id != set_id and self._waiting.knows(score.set_id)

    async def _write(self, folder: Path, station: str, set_id: str, handed: HandedSet) -> None:
        from slpstream.parts.handover import zips  # noqa: PLC0415 -- loads the writer of zips

        known = self._waiting.name_of(set_id)
        if known is not None and await trio.to_thread.run_sync((folder / known).exists, limiter=self._limiter):
            return  # it appeared just before the last run ended
        taken = self._waiting.names_of_others(set_id)
        name = await trio.to_thread.run_sync(zips.free_name, folder, handed.name, taken, limiter=self._limiter)
        await self._waiting.begin(set_id, name)
        count = await trio.to_thread.run_sync(
            zips.write_zip_file, folder / name, handed, self._report, limiter=self._limiter
        )
        self._host.metrics.counter("slpstream_handover_zips_total").inc()
        self._log.info("set exported", station=station, set=set_id, file=name, replays=count)

    async def _contents_of(self, station: str, score: SetScore) -> HandedSet:
        contexts = self._host.find(SetContexts)
        bracket = None if contexts is None or score.set_id is None else contexts.context_of(station, score.set_id)
        return await self._contents.of(station, score, bracket)

    def _count_failure(self) -> None:
        self._host.metrics.counter("slpstream_handover_failures_total").inc()

    def _report(self, path: Path, what: str) -> None:
        self._log.warning("replay in the zip of a set", file=path.name, what=what)


def _is_old(handed: HandedSet) -> bool:
    """Whether a set ended a long time ago.

    We ignore files in archives, because an archive can be much younger than the games in it.
    """
    loose = [
        each.replay for each in handed.members if any(SEPARATOR not in os.fspath(path) for path in each.replay.paths)
    ]
    newest_ms = max((replay.written_at_ms for replay in loose), default=0)
    return time.time() - newest_ms / 1000 > MAX_AGE_SECONDS
