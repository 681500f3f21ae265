"""Finds the situations in a replay, for the Python interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from slpstream.formats.slippi.game_start import Settings
from slpstream.model.events import Event, final_frames
from slpstream.model.occurrence import Occurrence
from slpstream.parts import registry
from slpstream.parts.services import OddsOfGame
from slpstream.parts.situations.search.live import LiveSituations
from slpstream.parts.situations.search.parser import parsed
from slpstream.parts.situations.search.posts import read_row
from slpstream.parts.situations.search.query import Bound
from slpstream.parts.situations.search.swings import is_within, span_of

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

        found = whole_situations(wanted, whole, registry.function("column_odds"))
        if found is not None:
            return found
    search = LiveSituations(wanted, settings)
    if not search.is_possible:
        return []
    if wanted.swing is not None:
        return list(_swinging(wanted.swing, search, settings, batches))
    occurrences: list[Occurrence] = []
    for events in batches:
        occurrences += search.take(events)
    return occurrences + search.finish()


def _swinging(
    wanted: Bound, search: LiveSituations, settings: Settings, batches: Iterable[Iterable[Event]]
) -> Iterator[Occurrence]:
    """Yield the situations that change the odds as wanted."""
    begin = registry.function("begin_odds")
    odds: OddsOfGame | None = None if begin is None else begin(settings)
    if odds is None:
        return

    def chosen(found: Sequence[Occurrence]) -> Iterator[Occurrence]:
        return (each for each in found if is_within(wanted, odds.swing(span_of(each, search.dying))))

    for events in batches:
        for frame in final_frames(events):
            odds.take(*read_row(frame))
            yield from chosen(search.feed(frame))
    yield from chosen(search.finish())
