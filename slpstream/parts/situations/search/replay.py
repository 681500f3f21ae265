"""Finds the situations in a replay, for the Python interface."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from slpstream.formats.slippi.game_start import Settings
from slpstream.model.events import Event
from slpstream.model.occurrence import Occurrence
from slpstream.parts.situations.search.live import LiveSituations
from slpstream.parts.situations.search.parser import parsed

if TYPE_CHECKING:
    from slpstream.formats.slippi.whole_game import WholeGame


def find_situations(
    query: str, settings: Any, whole: WholeGame | None, batches: Iterable[Iterable[Event]]
) -> list[Occurrence] | None:
    """Return the situations in a game that match a query, in the order in which they are known.

    `whole` is the game in columns, if these are available. Otherwise, we read the events from `batches`. Returns `None`
    if it isn't a Slippi game, and raises `ValueError` if the query is invalid.
    """
    wanted = parsed(query)
    if not isinstance(settings, Settings):
        return None
    if whole is not None:
        from slpstream.parts.situations.search.whole import whole_situations  # noqa: PLC0415 -- it needs numpy

        found = whole_situations(wanted, whole)
        if found is not None:
            return found
    search = LiveSituations(wanted, settings)
    if not search.is_possible:
        return []
    occurrences: list[Occurrence] = []
    for events in batches:
        occurrences += search.take(events)
    return occurrences + search.finish()
