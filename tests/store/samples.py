"""Synthetic games as entries of the index."""

from __future__ import annotations

from typing import Any

import msgspec

from slpstream.game.described import DescribedGame
from slpstream.model.events import Event, GameEnd, GameStart, Metadata, StatsUpdate
from slpstream.model.highlight import Highlight
from slpstream.store import Entry, GameRecord

SECOND = 1_000_000_000
DAY_ONE = 1_700_000_000
"""Unix time of game 0. Each further game is a minute later."""


def game_id(number: int) -> str:
    """A game id of 32 hex digits."""
    return f"{number:032x}"


def settings(*names: str) -> dict[str, Any]:
    """Settings of a game with these players, each with a connect code."""
    players = [
        {"playerIndex": i, "port": i + 1, "characterId": i, "displayName": name, "connectCode": f"{name.upper()}#{i}"}
        for i, name in enumerate(names)
    ]
    return {"stageId": 3, "players": players, "matchInfo": {"matchId": "x"}}


def start(number: int = 0, *names: str) -> GameStart:
    return GameStart(10, "slippi", game_id(number), settings(*(names or ("ann", "bob"))), (60, 1))


def end(seconds: float = 30.0) -> GameEnd:
    return GameEnd(
        90, "game_end", winners=({"playerIndex": 1, "position": 0},), last_frame=1676, duration_seconds=seconds
    )


def stats() -> StatsUpdate:
    return StatsUpdate(
        80, 1676, {"gameComplete": True, "lastFrame": 1676, "overall": [{"killCount": 4}], "combos": [1]}
    )


def with_highlights(number: int, scores: list[float] | None, station: str = "main") -> Entry:
    """An entry whose game has highlights with these scores; `None` if they are unknown."""
    described = entry(number, station=station)
    assert described.record is not None
    found = None if scores is None else [highlight(score, 100 * place) for place, score in enumerate(scores)]
    return msgspec.structs.replace(described, record=msgspec.structs.replace(described.record, highlights=found))


def highlight(score: float, end_frame: int = 100) -> Highlight:
    return Highlight(
        of="conversion",
        player_index=0,
        opponent_index=1,
        start_frame=end_frame - 50,
        end_frame=end_frame,
        score=score,
        reasons=("damage",),
    )


def metadata(started: str = "2023-11-14T22:13:20Z") -> Metadata:
    return Metadata(99, {"startAt": started, "lastFrame": 1676})


def record(*events: Event) -> GameRecord:
    """The record of the game that these events describe."""
    described = DescribedGame.of(events)
    assert described is not None
    return described.record()


def entry(
    number: int = 0,
    *names: str,
    station: str = "main",
    path: str | None = None,
    at: int | None = None,
    events: tuple[Event, ...] | None = None,
) -> Entry:
    """The entry of a file with one game, which ended at the Unix time `at`."""
    at = DAY_ONE + 60 * number if at is None else at
    events = (start(number, *names), stats(), end()) if events is None else events
    return Entry(
        station=station,
        path=(path or f"/replays/{station}/{number}.slp").encode(),
        mtime_ns=at * SECOND,
        size_bytes=1000,
        record=record(*events),
    )
