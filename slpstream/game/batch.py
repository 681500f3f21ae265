"""What one call to a pipeline has led to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from slpstream.model.events import Event, GameEnd, GameStart
from slpstream.model.messages import FramesMode, LogMessage


class Batch(msgspec.Struct):
    """The messages and notable events that you get from one call to a pipeline."""

    logs: Mapping[FramesMode, list[LogMessage]]
    """The new messages of each mode's log."""
    loose: list[LogMessage] = msgspec.field(default_factory=list)
    """Diagnostics from before Game Start, which belong to no game and have no cursor."""
    start: GameStart | None = None
    end: GameEnd | None = None
    frames: int = 0
    """Number of `Frame` events, including revisions after a rollback."""
    resent_frames: int = 0
    """Number of revisions among these."""
    notable: list[Event] = msgspec.field(default_factory=list)
    """The events about the game or its bytes: Game Start, highlights, stats, Game End, metadata, diagnostics."""

    @property
    def is_empty(self) -> bool:
        """Whether the call has led to nothing."""
        return not (self.frames or self.loose or any(self.logs.values()))

    def messages(self, mode: FramesMode) -> list[LogMessage]:
        """Return all messages of one mode in order. They begin with the diagnostics that don't belong to any game."""
        return [*self.loose, *self.logs[mode]] if self.loose else self.logs[mode]
