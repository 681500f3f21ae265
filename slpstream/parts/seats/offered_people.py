"""The people whom phones offer for the seats of a station."""

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
    """The players whom the bracket expects, and the people who were named recently, whom the index keeps."""

    def __init__(self, index: GameIndex, expected: Expected) -> None:
        self._index = index
        self._expected = expected
        self._recent: Sequence[RecentPerson] | None = None
        """`None` until the kept people are loaded."""

    @property
    def loaded(self) -> bool:
        """Whether the kept people are loaded."""
        return self._recent is not None

    async def load(self) -> None:
        """Load the kept people."""
        kept = await self._index.remembered(_KEY)
        try:
            self._recent = msgspec.convert(kept or (), tuple[RecentPerson, ...], str_keys=True)
        except msgspec.ValidationError:  # written by another version
            self._recent = ()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Note the people who are named in the set of a station."""
        if self._recent is not None:
            recent = people.with_recent(self._recent, self._named(station, payload))
            if recent is not self._recent:
                self._recent = recent
                self._index.remember(_KEY, msgspec.to_builtins(recent))

    def find(self, station: str, name: str) -> Person | None:
        """The offered person with a name, tapped or typed; `None` if the name is not offered."""
        expected, recent = self._expected(station), self._recent or ()
        for known_as in (name, people.clean_name(name, people.MAX_NAME)):
            person = people.person_named(known_as, expected, recent)
            if person is not None:
                return person
        return None

    def at(self, station: str) -> list[SeatPerson]:
        """The people whom a phone at a station offers. The expected players come first."""
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
        """The people in a set whose names come from an operator, a phone or a replay."""
        expected = {folded(people.as_in_sets(player).name) for player in self._expected(station)}
        for player in payload["players"]:
            name: str | None = player.get("name")
            if not name:
                continue
            by_phone = player.get("seatName") and not player.get("namedByOperator")
            if by_phone or player.get("namedByOperator") or player.get("netplayName"):
                claimed_at = station if by_phone and folded(name) not in expected else None
                yield RecentPerson(name, player.get("sponsor"), player.get("pronouns"), claimed_at)
