"""The people that phones offer if you choose who has a seat at a station."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from slpstream.model.bracket_facts import ExpectedPlayer
from slpstream.parts.seats import people
from slpstream.parts.seats.claims import Person, folded
from slpstream.parts.seats.people import RecentPerson
from slpstream.parts.seats.phone_api import SeatPerson
from slpstream.store import GameIndex

_KEY = "people_at_seats"
"""The key of the recent people in the index."""
_MAX_OFFERED = 80

Expected = Callable[[str], Sequence[ExpectedPlayer]]
"""Returns the players whom the bracket expects at a station."""


class OfferedPeople:
    """The players that the bracket expects, and the people who were named recently. The index keeps the latter."""

    def __init__(self, index: GameIndex, expected: Expected) -> None:
        self._index = index
        self._expected = expected
        self._recent: Sequence[RecentPerson] | None = None
        """`None` until the kept people are loaded."""

    @property
    def loaded(self) -> bool:
        """Whether we have loaded the people that were kept."""
        return self._recent is not None

    async def load(self) -> None:
        """Load the people that were kept."""
        kept = await self._index.remembered(_KEY)
        try:
            self._recent = msgspec.convert(kept or (), tuple[RecentPerson, ...], str_keys=True)
        except msgspec.ValidationError:  # written by another version
            self._recent = ()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Note which people are named in the set of the given station."""
        if self._recent is not None:
            recent = people.with_recent(self._recent, self._named(station, payload))
            if recent is not self._recent:
                self._recent = recent
                self._index.remember(_KEY, msgspec.to_builtins(recent))

    def find(self, station: str, name: str) -> Person | None:
        """Return the person with a name that someone has tapped or typed, or `None` if we don't offer this name."""
        expected, recent = self._expected(station), self._recent or ()
        for known_as in (name, people.clean_name(name, people.MAX_NAME)):
            person = people.person_named(known_as, expected, recent)
            if person is not None:
                return person
        return None

    def at(self, station: str) -> list[SeatPerson]:
        """Return the people that a phone at the given station should offer, beginning with the players that the bracket
        expects.
        """
        expected = [person for each in self._expected(station) if (person := people.as_in_sets(each)).name]
        known = {folded(person.name) for person in expected}
        recent = [person for each in self._recent or () if (person := people.as_in_sets(each)).name]
        return [
            *(SeatPerson(name=p.name, sponsor=p.sponsor, pronouns=p.pronouns, expected=True) for p in expected),
            *(
                SeatPerson(name=p.name, sponsor=p.sponsor, pronouns=p.pronouns)
                for p in recent
                if folded(p.name) not in known
            ),
        ][:_MAX_OFFERED]

    def _named(self, station: str, payload: Mapping[str, Any]) -> Iterator[RecentPerson]:
        """Return those people in a set whose names come from an operator, a phone or a replay."""
        expected = {folded(people.as_in_sets(player).name) for player in self._expected(station)}
        for player in payload["players"]:
            name: str | None = player.get("name")
            if not name:
                continue
            by_phone = player.get("seatName") and not player.get("namedByOperator")
            if by_phone or player.get("namedByOperator") or player.get("netplayName"):
                claimed_at = station if by_phone and folded(name) not in expected else None
                yield RecentPerson(name, player.get("sponsor"), player.get("pronouns"), claimed_at)
