"""The stats of a whole game, from the events of its reader."""

from __future__ import annotations

from collections.abc import Iterable

from slpstream.formats.slippi.stats.game import SlippiStats
from slpstream.model.events import Event, Frame, FrameFinalized, GameEnd, GameStart


def whole_stats(batches: Iterable[Iterable[Event]], *, compat: bool = False, crew: bool = False) -> SlippiStats | None:
    """Compute the stats of a game from everything that its reader returns, in order.

    Returns `None` if the game has no Game Start.
    """
    stats: SlippiStats | None = None
    for events in batches:
        for event in events:
            if type(event) is Frame:  # counts when it is final
                continue
            if isinstance(event, GameStart):
                stats = stats or SlippiStats(event.settings, compat=compat, crew=crew)
            elif stats is None:
                continue
            elif isinstance(event, FrameFinalized):
                for frame in event.frames:
                    stats.take(frame, event.end_offset)
            elif isinstance(event, GameEnd):
                stats.finish(event)
    return stats
