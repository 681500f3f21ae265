"""Setups with the replays of their games, and the zips of their sets."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slpstream.api import read_game
from slpstream.model.summary import IndexedGame, Standing
from slpstream.parts.handover.archive import write_zip
from slpstream.parts.handover.handed_set import HandedSet, ReplayFile, handed_set
from slpstream.sets import played_games
from tests.parts.handover.validator import problems
from tests.sets.games import BATTLEFIELD, DREAM_LAND, MARTH, CorrectedGames, Seat, replay

ANN, BOB = Seat("Ann", "ANN#1"), Seat("Bob", "BOB#2", character=MARTH)


class Setup(CorrectedGames):
    """A setup with the replays of its games."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.files: dict[str, ReplayFile] = {}
        self.indexed: list[IndexedGame] = []

    def add(self, data: bytes, *, arrived_ms: int | None = None, name: str = "") -> str:
        path = self.folder / (name or f"Game_{len(self.files):03}.slp")
        path.write_bytes(data)
        record = read_game(path).record()
        self.files[record.game_id] = ReplayFile(
            record.game_id, [path], path.name, record.format, record.summary, record.last_frame,
            record.duration_seconds or 0.0, record.said_at_ms, arrived_ms, 0,
        )  # fmt: skip
        standings = json.loads(record.standings or b"{}")
        self.indexed.append(
            IndexedGame(
                record.game_id,
                record.summary,
                {int(index): Standing(**each) for index, each in standings.items()},
                listed_at_ms=record.said_at_ms or 0,
                arrived_at_ms=arrived_ms,
                said_at_ms=record.said_at_ms,
                duration_seconds=record.duration_seconds,
                reason=record.reason,
            )
        )
        self.games = played_games(self.indexed, ())
        return record.game_id

    def play(
        self,
        winners: str,
        seats: Mapping[int, Seat] | None = None,
        *,
        minute: float = 0.0,
        stages: Sequence[int] = (BATTLEFIELD, DREAM_LAND),
    ) -> None:
        """Play games five minutes apart, with the player index of each winner."""
        seats = seats or {0: ANN, 1: BOB}
        for number, winner in enumerate(winners):
            left = {index: 2 if index == int(winner) else 0 for index in seats}
            at = minute + 5 * number
            self.add(replay(seats, left, seconds=40, minute=at, stage=stages[number % len(stages)]))

    def payload(self) -> Any:
        """The payload of the newest set."""
        return self.payloads()[-1]

    def handed(self, **options: Any) -> HandedSet:
        return handed_set(self.payload(), self.files, **options)

    def zipped(self, **options: Any) -> zipfile.ZipFile:
        file = io.BytesIO()
        write_zip(self.handed(**options), file)
        assert problems(file) == []
        return zipfile.ZipFile(file)
