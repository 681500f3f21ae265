"""Two sets whose winners meet in the final, on three stations."""

from __future__ import annotations

from typing import Any

from slpstream.parts.bracket.desk.desk import BracketDesk
from slpstream.parts.bracket.queue import Entry
from tests.parts.bracket.desks import games
from tests.parts.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble
from tests.parts.bracket.venue import set_payload
from tests.virtual_time import now

ALICE, BOB, CARL, DORA = Player("Alice"), Player("Bob"), Player("Carl"), Player("Dora")
ONE, TWO, THREE = (("setup-1", "1" * 32), ("setup-2", "2" * 32), ("setup-3", "3" * 32))


def pools() -> StartggDouble:
    """Two sets whose winners meet in the final."""
    double = StartggDouble(now)
    double.stations.update({500 + number: (number, f"Setup {number}") for number in (1, 2, 3)})
    double.add(DoubleSet("final", 3, 4, [None, None], round="Final", round_number=2))
    double.add(DoubleSet("one", 1, 4, [Entrant(11, [ALICE]), Entrant(12, [BOB])], feeds=[("final", 0)]))
    double.add(DoubleSet("two", 2, 4, [Entrant(13, [CARL]), Entrant(14, [DORA])], feeds=[("final", 1)]))
    return double


def payload(key: tuple[str, str], one: Player, other: Player, winners: str) -> dict[str, Any]:
    return set_payload(key[1], [[one], [other]], games(winners))


def at(desk: BracketDesk, key: tuple[str, str]) -> Entry:
    return next(entry for entry in desk.entries if entry.key == key)
