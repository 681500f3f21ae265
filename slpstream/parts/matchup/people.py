"""The people who play a set. They are recognised by the connect code or, without one, by the shown name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slpstream.model.bracket_facts import ExpectedPlayer
from slpstream.sets.grouping import Member
from slpstream.sets.matching import folded


class Person(NamedTuple):
    """A person with a name."""

    name: str
    code: str = ""

    def is_member(self, member: Member) -> bool:
        """Whether this is the member of a set.

        A person with a code is never the same as one without a code, because many people share a name.
        """
        if self.code or member.connect_code:
            return folded(self.code) == folded(member.connect_code)
        return folded(self.name) == folded(member.shown_name or "")


class Unknown(Exception):
    """Raised if nothing can be known about the players, with the reason."""


def people_of(found: Mapping[str, Any] | None, expected: Sequence[ExpectedPlayer]) -> tuple[Person, Person]:
    """Return the players of a set, as its message describes it. If it hasn't begun, they can come from the bracket.

    Raises `Unknown`.
    """
    people = [] if found is None else _of_set(found)
    if len(people) < 2 and (found is None or found["state"] == "upcoming"):
        people = [Person(player.name) for player in expected]
    if len(people) != 2:
        raise Unknown("the players are not known")
    first, second = people
    if folded(first.code) == folded(second.code) and (first.code or folded(first.name) == folded(second.name)):
        raise Unknown("both players have the same name")
    return first, second


def _of_set(found: Mapping[str, Any]) -> list[Person]:
    if found.get("crewBattle") is not None:
        raise Unknown("a crew battle")
    if any(len(side["players"]) > 1 for side in found["sides"]):
        raise Unknown("a set of teams")
    if len(found["sides"]) > 2:
        raise Unknown("more than two players")
    players = [(player.get("name", ""), player.get("connectCode", "")) for player in found["players"]]
    return [Person(name or code, code) for name, code in players if name or code]
