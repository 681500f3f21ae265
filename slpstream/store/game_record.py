"""The record of a game in the index, which consists of JSON and plain values.

Records don't depend on formats. Everything that we want to know about players, place and winners is in the neutral
summary, which you have to pass. The settings, the metadata and the end are stored in the same form as in messages. This
module doesn't do any I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from slpstream.model.events import GameEnd, GameStart, Metadata
from slpstream.model.highlight import Highlight
from slpstream.model.setup import Pacing
from slpstream.model.summary import GameSummary, PlayerSummary

_encode = msgspec.json.Encoder().encode

_EARLIEST = datetime(2001, 11, 21, tzinfo=UTC)
"""The release of Melee, the oldest of the games with a clock. A console whose clock was never set has earlier dates."""
_LATEST = datetime.max.replace(tzinfo=UTC)
"""The last moment of the year 9999. A time of that year with a zone west of Greenwich can be later."""


_NO_END = ("incomplete", "error")
"""The end reasons of games whose file lacks the end."""
WHOLE = 2
"""The `Entry.completeness` of a file with the end and the metadata of its game."""


class GameRecord(msgspec.Struct, kw_only=True):
    """One game. If a value is `None`, we don't know it (yet). Values of type `bytes` are JSON."""

    game_id: str
    format: str
    rate: bytes
    """Frames per second as a fraction."""
    settings: bytes
    summary: GameSummary
    metadata: bytes | None = None
    game_end: bytes | None = None
    """The payload of `game_end`."""
    standings: bytes | None = None
    """Stocks and percent at the end, by player index."""
    reason: str | None = None
    last_frame: int | None = None
    duration_seconds: float | None = None
    stats: bytes | None = None
    """The summary of the stats at the end."""
    highlights: list[Highlight] | None = None
    """In the order in which they ended."""
    said_at_ms: int | None = None
    """When the game began according to its file, in Unix time."""

    @classmethod
    def of(
        cls,
        start: GameStart,
        end: GameEnd | None,
        metadata: Metadata | None,
        summary: GameSummary,
        stats: bytes | None = None,
        highlights: list[Highlight] | None = None,
    ) -> Self:
        """Make the record of a game from its events and its summary."""
        record = cls(
            game_id=start.game_id,
            format=start.format,
            rate=_encode(start.rate),
            settings=_encode(start.settings),
            summary=summary,
            metadata=None if metadata is None else _encode(metadata.metadata),
            stats=stats,
            highlights=highlights,
            said_at_ms=_unix_ms(summary.started_at),
        )
        if end is not None:
            record.game_end = _encode(_payload(end))
            record.standings = _encode({str(index): standing for index, standing in end.standings.items()})
            record.reason = end.reason
            record.last_frame = end.last_frame
            record.duration_seconds = end.duration_seconds
        return record

    def updated(self, later: GameRecord) -> GameRecord:
        """Return a copy of this record that was updated with the values from a later read of the same game.

        If the later read lacks a value, the old one stays, because it might just have read less of the file.
        """
        known = {name: value for name in self.__struct_fields__ if (value := getattr(later, name)) is not None}
        if knows_less(later, self.reason, self.metadata):
            del known["summary"]
        return msgspec.structs.replace(self, **known)


def knows_less(record: GameRecord, reason: Any, metadata: Any) -> bool:
    """Whether a record lacks the end or the metadata of the game, although we already know them."""
    return (record.reason is None and reason is not None) or (record.metadata is None and metadata is not None)


class Entry(msgspec.Struct, kw_only=True):
    """A file and the game in it. If there is no game, then `record` is `None`, and `problem` explains why."""

    station: str
    path: bytes
    """The bytes of the path in the file system."""
    mtime_ns: int
    size_bytes: int
    record: GameRecord | None = None
    problem: str | None = None
    arrived_at_ms: int | None = None
    """When the first bytes of the file were seen to arrive, Unix time, or `None` for files that existed before."""
    ended_at_ms: int | None = None
    """When the game in the file was seen to end, Unix time; `None` if it was not, for example because it was over
    before."""
    pacing: Pacing | None = None
    """How evenly the frames arrived, or `None` until the game has ended, and if they were not seen to arrive."""

    @property
    def completeness(self) -> int:
        """How complete the game in the file is.

        It gets one point if it has a regular end, and another one if it has metadata, so you get at most `WHOLE`.
        """
        record = self.record
        if record is None:
            return 0
        return (record.reason is not None and record.reason not in _NO_END) + (record.metadata is not None)

    def updated(self, later: Entry) -> Entry:
        """Return a copy of this entry that was updated with a later read of the same file."""
        if self.record is None or later.record is None or self.record.game_id != later.record.game_id:
            return later
        arrived_at_ms = later.arrived_at_ms if self.arrived_at_ms is None else self.arrived_at_ms
        ended_at_ms = later.ended_at_ms if self.ended_at_ms is None else self.ended_at_ms
        return msgspec.structs.replace(
            later,
            record=self.record.updated(later.record),
            arrived_at_ms=arrived_at_ms,
            ended_at_ms=ended_at_ms,
            pacing=later.pacing or self.pacing,
        )


def search_terms(players: Iterable[PlayerSummary]) -> set[str]:
    """Return the names, codes and tags of players with their case folded. You can find a game by these."""
    values = (value for player in players for value in (player.shown_name, player.code, player.tag))
    return {folded(value) for value in values if value}


def folded(name: str) -> str:
    """Fold the case of the given name, so that you can find it no matter how it is written."""
    return name.strip().casefold()


def _payload(end: GameEnd) -> dict[str, Any]:
    payload = {
        "reason": end.reason,
        "gameEnd": end.game_end,
        "winners": end.winners,
        "lastFrame": end.last_frame,
        "durationSeconds": end.duration_seconds,
        **end.values,
    }
    return {key: value for key, value in payload.items() if value is not None}


def _unix_ms(text: str) -> int | None:
    """Convert a date and time to Unix milliseconds. If it doesn't have a zone, we take it for UTC.

    Returns `None` if it isn't plausible.
    """
    try:
        moment = datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        if not _EARLIEST <= moment <= _LATEST:
            return None
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
