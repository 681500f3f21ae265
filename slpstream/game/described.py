"""Everything that describes a game: its start, end, metadata, stats and highlights, and a summary of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import msgspec

from slpstream.formats.registry import describe
from slpstream.model import highlight
from slpstream.model.events import Event, GameEnd, GameEvent, GameStart, Metadata, StatsUpdate, first_of
from slpstream.model.highlight import Highlight
from slpstream.model.summary import GameSummary, stats_summary

if TYPE_CHECKING:
    from slpstream.store.game_record import GameRecord

_END_FIELDS = ("reason", "gameEnd", "winners", "lastFrame", "durationSeconds")


class DescribedGame:
    """The description of one game, as far as it was read."""

    def __init__(self, start: GameStart) -> None:
        self.start = start
        self.end: GameEnd | None = None
        self.metadata: Metadata | None = None
        self._newest_stats: StatsUpdate | None = None
        self.final_stats: bytes | None = None
        """The summary of the last stats before the end, as JSON."""
        self.highlights: list[Highlight] | None = None
        """The highlights so far, in the order in which they ended, or `None` while no stats are computed."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self | None:
        """Describe a game from its events. Returns `None` if there's no Game Start among them."""
        events = iter(events)
        start = first_of(GameStart, events)
        if start is None:
            return None
        described = cls(start)
        described.take(events)
        return described

    @classmethod
    def of_payloads(
        cls,
        game_id: str,
        game_start: Mapping[str, Any],
        game_end: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Self:
        """Describe a game from the payloads of its messages, for example if you got them from the index."""
        rate = game_start.get("rate") or (60, 1)
        start = GameStart(0, game_start.get("format") or "", game_id, game_start.get("settings"), tuple(rate))
        described = cls(start)
        if game_end is not None:
            values = dict(game_end)
            reason, result, winners, last_frame, duration_seconds = (values.pop(name, None) for name in _END_FIELDS)
            described.end = GameEnd(0, reason, result, winners or (), last_frame, duration_seconds, values)
        if metadata is not None:
            described.metadata = Metadata(0, metadata)
        return described

    def take(self, events: Iterable[Event]) -> None:
        """Add more events of the game. When the game ends, the last stats before that become `final_stats`."""
        for event in events:
            if isinstance(event, StatsUpdate):
                self._newest_stats = event
                self.highlights = self.highlights or []
            elif isinstance(event, GameEvent) and event.kind == highlight.KIND:
                self.highlights = [*(self.highlights or ()), highlight.of_event(event.values)]
            elif isinstance(event, GameEnd):
                self.end = event
                stats, self._newest_stats = self._newest_stats, None
                self.final_stats = None if stats is None else stats_summary(stats.stats)
            elif isinstance(event, Metadata):
                self.metadata = event

    def reopen(self) -> None:
        """Forget about the end of the game, because it turned out that the file is still being written."""
        self.end = self.final_stats = None

    def summary(self, *, with_metadata: bool = True) -> GameSummary:
        """Return the neutral summary of the part of the game that was read so far."""
        metadata = None if self.metadata is None or not with_metadata else self.metadata.metadata
        return describe(self.start, self.end, metadata)

    def record(self) -> GameRecord:
        """Return the record of the game for the index, with everything that was read so far."""
        from slpstream.store.game_record import GameRecord  # noqa: PLC0415 -- others don't need a database

        return GameRecord.of(self.start, self.end, self.metadata, self.summary(), self.final_stats, self.highlights)


def describe_stored(format_name: str, settings: str, game_end: str | None, metadata: str | None) -> str:
    """Summarise a game that was indexed by an older version. You pass the JSON from its row (`store.schema`).

    Returns the summary as JSON. If the row is damaged, this is an empty object.
    """
    try:
        game_start, *later = (msgspec.json.decode(text or "null") for text in (settings, game_end, metadata))
    except msgspec.DecodeError:
        return "{}"
    described = DescribedGame.of_payloads("", {"format": format_name, "settings": game_start}, *later)
    return msgspec.json.encode(described.summary()).decode()
