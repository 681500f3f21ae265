"""Sets that are completed while the list of open sets is read, page by page."""

from __future__ import annotations

import trio

from slpstream.tournament.bracket.startgg.client import StartggBracket
from tests.tournament.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble, Trouble

SETS = 100
COMPLETED = 3


async def test_open_sets_are_all_found_while_others_are_completed() -> None:
    """They move forward in the list, possibly to a page that has been read."""
    double = StartggDouble(trio.current_time)
    for number in range(SETS):
        entrants = [Entrant(number * 2 + side, [Player(f"Player {number}-{side}")]) for side in (0, 1)]
        double.add(DoubleSet(f"set-{number}", number, 400, [*entrants]))
    open_before = [str(each.id) for each in double.sets.values()]

    def complete_first(operation: str) -> Trouble:
        if operation == "Sets" and any(asked == "Sets" for asked, _ in double.requests):
            for each in [each for each in double.sets.values() if each.state == 1][:COMPLETED]:
                each.state = 3
        return ""

    double.trouble = complete_first
    found = [each.id for each in await StartggBracket(double.connection()).open_sets()]
    still_open = {str(each.id) for each in double.sets.values() if each.state == 1}
    assert 0 < len(still_open) < SETS
    assert still_open <= set(found) <= set(open_before)
    assert len(found) == len(set(found))
