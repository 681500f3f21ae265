"""Names for seats. This cleans up names that were typed, and keeps a list of the people who were named recently."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from slpstream.model.bracket_facts import ExpectedPlayer
from slpstream.model.prepared import prepared
from slpstream.parts.seats.claims import Person, folded

MAX_TYPED_NAME = 30
MAX_NAME, MAX_DETAIL = 60, 40
"""Length limits of the name, and of the sponsor and the pronouns, of a person in a set."""
MAX_RECENT = 200
"""Limit of remembered people. Those who were named longest ago are dropped first."""
MAX_CLAIMED = 20
"""Limit of remembered people whom only phones with the code of one station have named."""

_JOINER = "\u200d"
"""Part of many emoji."""
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
"""Invisible letters and symbols: the fillers of the Korean script, and the empty cell of Braille."""
_MAX_MARKS = 2
"""Combining marks in a row: enough for every language that is written with them."""


@prepared
class RecentPerson(Person, frozen=True, omit_defaults=True):
    """A person who was named recently."""

    claimed_at: str | None = None
    """The station whose code the first naming phone had; `None` if an operator, the bracket or a replay named them."""


def as_in_sets(person: Person | ExpectedPlayer) -> Person:
    """Return a person in the form that sets use. Every text is on one line, and not too long."""
    sponsor, pronouns = (_cut(detail or "", MAX_DETAIL) or None for detail in (person.sponsor, person.pronouns))
    return Person(_cut(person.name, MAX_NAME), sponsor, pronouns)


def _cut(text: str, max_length: int) -> str:
    return " ".join(text.split())[:max_length].rstrip()


def clean_name(text: str, max_length: int = MAX_TYPED_NAME) -> str:
    """Return a name that was typed on one line, without invisible characters and piles of marks.

    If there's nothing left that you can see, it is empty.
    """
    kept: list[str] = []
    marks = 0
    for character in unicodedata.normalize("NFC", text):
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if kind.startswith("Z") or kind == "Cc" or character in _BLANKS:
            kept.append(" ")
        elif (kind[0] != "C" or character == _JOINER) and marks <= _MAX_MARKS:
            kept.append(character)
    name = " ".join("".join(kept).split())[:max_length].strip()
    return name if any(unicodedata.category(character)[0] in "LNPS" for character in name) else ""


def person_named(name: str, expected: Iterable[ExpectedPlayer], recent: Iterable[Person]) -> Person | None:
    """Return the person with this name in the form that sets use, or `None` if we don't know the name."""
    wanted = folded(name)
    if not wanted:
        return None
    known = (as_in_sets(person) for people in (expected, recent) for person in people)
    return next((person for person in known if folded(person.name) == wanted), None)


def with_recent(recent: Sequence[RecentPerson], named: Iterable[RecentPerson]) -> Sequence[RecentPerson]:
    """Return the people who were named recently, after some of them were named again. If nothing changes, you get the
    same list.

    The newest come first. However, if someone was only named by phones, they come after all others. Everyone who has
    a code can invent people, and these shouldn't push away the real ones.
    """
    before = {folded(person.name): person for person in recent}
    merged: dict[str, RecentPerson] = {}
    for person in named:
        name = folded(person.name)
        known = merged.get(name) or before.get(name)
        claimed_at = person.claimed_at if person.claimed_at is None or known is None else known.claimed_at
        merged[name] = msgspec.structs.replace(person, claimed_at=claimed_at)
    merged = {**merged, **{name: person for name, person in before.items() if name not in merged}}
    real = [person for person in merged.values() if person.claimed_at is None]
    claimed: list[RecentPerson] = []
    at_station: Counter[str | None] = Counter()
    for person in merged.values():
        at_station[person.claimed_at] += 1
        if person.claimed_at is not None and at_station[person.claimed_at] <= MAX_CLAIMED:
            claimed.append(person)
    found = [*real, *claimed][:MAX_RECENT]
    return recent if found == [*recent] else found
