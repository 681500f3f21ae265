"""Select the sets that a desk should assign, start and call automatically. This module doesn't do any I/O."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.queue import Entry, State

Verb = Literal["call", "start", "assign"]
_RUNNING = (State.FOLLOWING, State.DUE, State.CONFIRM)


class Chore(NamedTuple):
    """One change of a set."""

    verb: Verb
    set_id: str
    station_id: str = ""
    """The bracket's id of the station that the set is assigned to."""


def chores(entries: Collection[Entry], known: KnownBracket, policy: Policy) -> list[Chore]:
    """Return all chores that have not been done yet."""
    if policy.dry_run:
        return []
    sets, here = known.sets, known.here
    found: list[Chore] = []
    theirs = {ours: id for id, ours in here.items()}
    running = [entry for entry in entries if entry.set_id in sets and entry.state in _RUNNING]
    for entry in running:
        each = sets[entry.set_id]
        if each.state == "done":
            continue
        if policy.assign and each.station is None and entry.station in theirs:
            found.append(Chore("assign", each.id, theirs[entry.station]))
        if policy.start and each.state in ("open", "called") and entry.state == State.FOLLOWING:
            found.append(Chore("start", each.id))
    busy: set[str | None] = {entry.station for entry in running if entry.state == State.FOLLOWING}
    busy |= {known.at_station(each) for each in sets.values() if each.state in ("called", "running")}
    taken = {entry.set_id for entry in entries}
    for each in sets.values():
        station = known.at_station(each)
        is_next = each.state == "open" and each.is_filled and each.id not in taken
        if policy.call and station and station not in busy and is_next:
            busy.add(station)
            found.append(Chore("call", each.id))
    return found
