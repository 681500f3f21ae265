"""A copy of a bracket, in the state that it had when we read it for the last time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from slpstream.parts.bracket.interface import BracketSet, BracketStation
from slpstream.parts.bracket.matching import KnownSets, stations_here


class KnownBracket:
    """The sets and stations of a bracket, and the queues of its streams."""

    def __init__(self, ours: Callable[[], Mapping[str, str]], configured: Mapping[str, str]) -> None:
        """`ours` returns the names of our stations by id.

        `configured` maps the number or name of a station in the bracket to our station.
        """
        self._ours = ours
        self._configured = configured
        self._sets: dict[str, BracketSet] = {}
        self._stations: Mapping[str, BracketStation] = {}
        self._here: tuple[Mapping[str, str], Mapping[str, str]] | None = None
        """The names of our stations, and the value of `here` for them, or `None` after `_stations` has changed."""
        self._found: tuple[Mapping[str, str], KnownSets] | None = None
        """The value of `here`, and that of `open_sets` for it, or `None` after `_sets` has changed."""
        self.queues: Mapping[str, Sequence[str]] = {}
        """The sets in the queues of streams, by our station."""

    @property
    def sets(self) -> Mapping[str, BracketSet]:
        """The sets that were read, by id."""
        return MappingProxyType(self._sets)

    @property
    def stations(self) -> Mapping[str, BracketStation]:
        """The stations of the bracket by id."""
        return self._stations

    @stations.setter
    def stations(self, stations: Iterable[BracketStation]) -> None:
        self._stations = {station.id: station for station in stations}
        self._here = None

    @property
    def here(self) -> Mapping[str, str]:
        """A mapping from the bracket's ids of stations to our stations."""
        ours = self._ours()
        if self._here is None or self._here[0] != ours:
            self._here = (dict(ours), stations_here(self._stations.values(), ours, self._configured))
        return self._here[1]

    @property
    def open_sets(self) -> KnownSets:
        """Those sets that don't have a result yet, with an index that makes it fast to search them."""
        here = self.here
        if self._found is None or self._found[0] is not here:
            self._found = (here, KnownSets(self._sets.values(), here))
        return self._found[1]

    def at_station(self, found: BracketSet) -> str | None:
        """Return the station of ours to which a set is assigned, or `None` if there is none."""
        return None if found.station is None else self.here.get(found.station.id)

    def update(self, sets: Iterable[BracketSet]) -> None:
        """Replace these sets."""
        self._sets.update({each.id: each for each in sets})
        self._forget_replaced()

    def replace_open(self, sets: Iterable[BracketSet]) -> None:
        """Replace all sets that don't have a result yet."""
        self._sets = {id: each for id, each in self._sets.items() if each.state == "done"}
        self.update(sets)

    def put(self, found: BracketSet) -> None:
        """Replace one set."""
        self._sets[found.id] = found
        self._found = None

    def rename(self, ids: Mapping[str, str]) -> None:
        """Replace the ids of sets. `ids` maps the old ones to the new ones."""
        for old, new in ids.items():
            found = self._sets.pop(old, None)
            if found is not None and new not in self._sets:
                self._sets[new] = msgspec.structs.replace(found, id=new, provisional=False)
            self._found = None

    def _forget_replaced(self) -> None:
        """If the sets of a pool have got their final ids, remove the provisional ones."""
        started = {each.pool for each in self._sets.values() if each.pool and not each.provisional}
        for id in [id for id, each in self._sets.items() if each.provisional and each.pool in started]:
            del self._sets[id]
        self._found = None
