"""Collect the replays of a set, and everything that we know about them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from slpstream.model.bracket_facts import SetContext
from slpstream.model.clock_skew import skew_of_set
from slpstream.model.summary import GameSummary, IndexedGame
from slpstream.parts.handover.handed_set import HandedSet, ReplayFile, Templates, handed_set
from slpstream.sets import SetScore
from slpstream.sources.packed import replay_name
from slpstream.store.game_rows import StoredGame
from slpstream.store.index import GameIndex
from slpstream.system.logs import get_logger

_SKEW_GAMES = 64


class SetContents:
    """Decides what the zips of sets should contain. It gets this from the index of games."""

    def __init__(self, index: GameIndex, templates: Templates, limiter: trio.CapacityLimiter) -> None:
        self._index = index
        self._templates = templates
        self._limiter = limiter
        self._log = get_logger()

    async def of(self, station: str, score: SetScore, bracket: SetContext | None) -> HandedSet:
        """Return the contents of the zip for a set. Raises `StoreError` if we can't find them out."""
        payload: dict[str, Any] = msgspec.to_builtins(score)
        found: list[StoredGame] = []
        for game in payload["games"]:
            for game_id in [game["gameId"], *(each["gameId"] for each in game.get("suddenDeaths", ()))]:
                stored = await self._index.game(game_id)
                if stored is not None and stored.files:
                    found.append(stored)
        files = await trio.to_thread.run_sync(_replay_files, found, limiter=self._limiter)
        skew = skew_of_set(
            [_indexed(each) for each in files.values()], await self._index.played_on(station, _SKEW_GAMES)
        )
        handed = handed_set(payload, files, skew=skew, bracket=bracket, templates=self._templates)
        about = {"station": station, "set": payload["setId"]}
        if handed.reason:
            self._log.info("set is exported without context.json", why=handed.reason, **about)
        if handed.missing:
            self._log.warning("replays of a set are missing", games=handed.missing, **about)
        return handed


def _replay_files(found: Sequence[StoredGame]) -> dict[str, ReplayFile]:
    """Return the replays of games by their ids.

    This blocks, because the name of a member of an archive is looked up in the archive.
    """
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
