"""The states through which a report goes, from the first game until it is in the bracket.

An answer can get lost, and the daemon can be killed at any moment, but still a report has its effect exactly once.
There are two reasons for this. First, if you report games, they replace the earlier ones, so it doesn't change anything
if you report them again. Second, if a set is already complete, a bracket refuses to complete it again. We then read the
set and compare it. To make this work, we read the set before each report, and store the entry both before the report is
sent and after it was answered.

None of the functions in this module does any I/O. Each of them returns the changed entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import msgspec

from slpstream.parts.bracket.interface import BracketSet, Entrant, Report
from slpstream.parts.bracket.matching import Match, sides_of
from slpstream.parts.bracket.played import Played


class State(StrEnum):
    """The state of an entry. It is stored, and you can see it in the HTTP interface."""

    UNMATCHED = "aside"
    """No set of the bracket is known for it."""
    ASK = "ask"
    """A person has to decide which set of the bracket it is, or how it ended."""
    FOLLOWING = "following"
    """It is being played, and there is nothing to send now."""
    CONFIRM = "confirm"
    """A person has to confirm the report."""
    DUE = "due"
    """The report is sent as soon as the bracket accepts it."""
    CONFLICT = "conflict"
    """The bracket has another result. A person decides."""
    DONE = "done"
    """The bracket has the result."""
    DROPPED = "dropped"
    """A person has decided that it is not reported."""


WAITING = frozenset({State.ASK, State.CONFIRM, State.DUE, State.CONFLICT})
"""States of pending entries: a person or the bracket has to act."""
Naming = Literal["", "unclear", "others"]
"""Whether changed names of the players still identify the sides (empty), identify none, or are those of others."""
_KEPT_SENT = 6
ANY_RESULT = "-"
"""The digest of the result to replace if results cannot be read."""


class Rules(NamedTuple):
    """Decides which results are reported without asking anyone to confirm them."""

    confirm: bool = True
    games: bool = True
    """Whether games are reported while the set is being played. Not with `confirm`."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A set that was played, the set of the bracket to which it belongs, and its reports."""

    station: str
    played_id: str
    played: Played
    state: State = State.UNMATCHED
    why: str = ""
    """For people: why nothing is sent, or what differs."""
    candidates: tuple[str, ...] = ()
    set_id: str = ""
    """The bracket's id of the set, or empty while it is unknown."""
    place: str = ""
    entrants: tuple[str, str] = ("", "")
    """In the bracket's order, like `names`."""
    names: tuple[str, str] = ("", "")
    people: tuple[Entrant, Entrant] | None = None
    """The entrants with their players, for comparison with names that change later."""
    round: str = ""
    event: str = ""
    best_of: int | None = None
    swapped: bool = False
    """Whether the first side of the set is the bracket's second entrant."""
    sent: tuple[str, ...] = ()
    """The winners of the games of reports that may be in the bracket, newest last."""
    accepted: str = ""
    """Digest of the last report that is known to be in the bracket."""
    accepted_games: str = ""
    """The winners of its games."""
    accepted_winner: int | None = None
    """The winner in the bracket, or `None` until the set is complete there."""
    confirmed: str = ""
    """Digest of the report that a person has confirmed."""
    overrules: str = ""
    """Digest of the result in the bracket that a person wants replaced."""
    reset_dependents: bool = False
    settled: bool = False
    """Whether the search for its set of the bracket has ended."""
    changed: bool = False
    """Whether the set has changed since it was reported."""
    by_person: bool = False
    """Whether a person has decided which set of the bracket it is."""
    naming: Naming = ""
    doubt: str = ""
    """Why a person has to confirm the result, in addition to reasons in the set itself."""
    left_behind: bool = False
    """Whether the next set of the station began before this one was over."""
    over_at_ms: int = 0
    """The time of its end, in Unix milliseconds."""
    detailed: bool = False
    """Whether the station got round and event."""
    context: Mapping[str, Mapping[str, Any]] = {}
    """`BracketSet.context` at the last reading. Stored because finished sets are not read again after a restart."""

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the entry."""
        return self.station, self.played_id


def report_of(entry: Entry) -> Report:
    """Return the report of an entry that has a set of the bracket. Everything is in the order of the bracket."""
    played = entry.played
    order = (1, 0) if entry.swapped else (0, 1)
    winner = played.winner if played.over else played.leader if entry.left_behind else None
    games = None
    if played.games is not None:
        games = tuple(
            msgspec.structs.replace(
                game,
                winner=order[game.winner],
                stocks=(game.stocks[order[0]], game.stocks[order[1]]),
                characters=tuple((order[side], character) for side, character in game.characters),
            )
            for game in played.games
        )
    return Report(
        set_id=entry.set_id,
        entrants=entry.entrants,
        names=entry.names,
        winner=None if winner is None else order[winner],
        score=(played.score[order[0]], played.score[order[1]]),
        games=games,
        station=entry.station,
        played_id=entry.played_id,
    )


def digest_of(report: Report) -> str:
    """Return a digest of the given report's content. It doesn't depend on the id of the set."""
    content = (report.entrants, report.winner, report.score, report.games)
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:24]


def seen_digest(found: BracketSet) -> str:
    """Return a digest of the result that a set of the bracket has."""
    content = (found.entrant_ids, found.winner, found.scores, found.games)
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:24]


def with_played(entry: Entry, played: Played, rules: Rules, now_ms: int) -> Entry:
    """Return the entry after its set has changed."""
    over_at_ms = (entry.over_at_ms or now_ms) if played.over else 0
    return planned(msgspec.structs.replace(entry, played=played, over_at_ms=over_at_ms), rules)


def with_names(entry: Entry, played: Played, rules: Rules) -> Entry:
    """Return the entry after its players have got other names, when it is too late to search for another set.

    If the new names don't tell us which side is which, a person has to decide.
    """
    entry = msgspec.structs.replace(entry, played=played)
    found = "unclear" if entry.people is None else sides_of(played, entry.people)
    if found == "swapped" if entry.swapped else found == "same":
        return planned(msgspec.structs.replace(entry, naming=""), rules)
    if found in ("same", "swapped") and not entry.by_person:
        return planned(msgspec.structs.replace(entry, swapped=not entry.swapped, naming=""), rules)
    naming: Naming = "others" if found == "others" and not entry.by_person else "unclear"
    return planned(msgspec.structs.replace(entry, naming=naming, confirmed=""), rules)


def with_names_of_result(entry: Entry, names: tuple[str, str], rules: Rules) -> Entry:
    """Return the entry after its players have got other names, if it goes to a receiver of results.

    It gets the new names.
    """
    naming: Naming = "unclear" if entry.accepted_winner is not None and names != entry.names else entry.naming
    return planned(msgspec.structs.replace(entry, names=names, naming=naming, confirmed=""), rules)


def with_match(entry: Entry, match: Match, rules: Rules) -> Entry:
    """Return the entry after we have searched for its set in the bracket."""
    if match.found is not None:
        return assigned(entry, match.found, rules, swapped=match.swapped)
    state: State = State.ASK if match.candidates else State.UNMATCHED
    return msgspec.structs.replace(entry, state=state, why=match.why, candidates=match.candidates)


def assigned(entry: Entry, found: BracketSet, rules: Rules, *, swapped: bool, by_person: bool = False) -> Entry:
    """Return the entry with its set of the bracket."""
    first, second = ("?" if entrant is None else entrant.name for entrant in found.entrants)
    if entry.set_id != found.id:
        entry = unassigned(entry)
    entry = msgspec.structs.replace(
        entry,
        state=State.FOLLOWING,
        candidates=(),
        set_id=found.id,
        place=found.place,
        entrants=found.entrant_ids,
        names=(first, second),
        people=(found.entrants[0], found.entrants[1]) if found.entrants[0] and found.entrants[1] else None,
        round=found.round,
        event=found.event,
        best_of=found.best_of,
        context=found.context,
        swapped=swapped,
        by_person=by_person,
        naming="",
    )
    return planned(entry, rules)


def unassigned(entry: Entry) -> Entry:
    """Return the entry without a set of the bracket, as if nothing had been reported yet."""
    return Entry(
        station=entry.station,
        played_id=entry.played_id,
        played=entry.played,
        over_at_ms=entry.over_at_ms,
        left_behind=entry.left_behind,
        detailed=entry.detailed,
        doubt=entry.doubt,
    )


def taken_as_result(entry: Entry, rules: Rules) -> Entry:
    """Return the entry for a receiver of results. There, the set that was played counts as the set of the bracket."""
    if entry.set_id:
        return entry
    entry = msgspec.structs.replace(
        entry, set_id=entry.played_id, names=entry.played.names, entrants=("0", "1"), state=State.FOLLOWING
    )
    return planned(entry, rules)


def left_behind(entry: Entry, rules: Rules) -> Entry:
    """Return the entry after the next set of its station has begun.

    A person has to decide whether the leader has won.
    """
    if entry.played.over or entry.left_behind:
        return entry
    return planned(msgspec.structs.replace(entry, left_behind=True), rules)


def planned(entry: Entry, rules: Rules) -> Entry:
    """Return the entry in the state that follows from its games, confirmations and reports."""
    if entry.state == State.DROPPED or not entry.set_id:
        return entry
    report = report_of(entry)
    digest = digest_of(report)
    if entry.accepted_winner is not None:  # the set is complete in the bracket, and only a person may change it
        if entry.overrules and digest == entry.confirmed:
            return _in(entry, State.DUE, "a correction is to be sent")
        if entry.naming:
            return _in(entry, State.DONE, "the names have changed since it was reported", changed=True)
        if report.winner in (None, entry.accepted_winner) and _winners(report) == entry.accepted_games:
            return _in(entry, State.DONE, "", changed=False)
        return _in(entry, State.DONE, "the set has changed since it was reported", changed=True)
    if entry.naming == "others":
        return _in(entry, State.ASK, "the names have changed since, to those of other players")
    if entry.state == State.CONFLICT and digest != entry.confirmed:
        return entry
    if report.winner is None:
        if entry.played.over or entry.left_behind:
            return _in(entry, State.ASK, "the set ended without a winner")
        wanted = rules.games and not rules.confirm and bool(report.games) and not (entry.naming or entry.doubt)
        return _in(entry, State.DUE if wanted and digest != entry.accepted else State.FOLLOWING, "")
    doubt = _doubt(entry, report)
    if (rules.confirm or doubt) and digest != entry.confirmed:
        return _in(entry, State.CONFIRM, doubt or "a person has to confirm it")
    return _in(entry, State.DUE, "")


def _doubt(entry: Entry, report: Report) -> str:
    """Return the reason why a person has to confirm a result in any case. If there's none, this is empty."""
    played = entry.played
    needed = None if entry.best_of is None or played.is_crew else entry.best_of // 2 + 1
    score = "–".join(map(str, played.score))
    if entry.naming:
        return "the names have changed since"
    if not played.over:
        return f"the next set of the station began at {score}"
    if needed is not None and max(played.score) != needed:
        return f"the set is over at {score}, and the bracket has best of {entry.best_of}"
    stale = next((sent for sent in reversed(entry.sent) if "-" not in sent), "")
    if report.games is None and stale:
        won = ", ".join(f"{number} won by {entry.names[int(side)]}" for number, side in enumerate(stale, 1))
        return f"the score was changed to {score}, and the bracket keeps the games reported before: {won}"
    return entry.doubt


def confirmed(entry: Entry, rules: Rules) -> Entry:
    """Return the entry after a person has confirmed its current report."""
    return planned(msgspec.structs.replace(entry, confirmed=digest_of(report_of(entry)), naming=""), rules)


def dropped(entry: Entry) -> Entry:
    """Return the entry after a person has decided that it should not be reported."""
    return _in(entry, State.DROPPED, "")


def to_correct(entry: Entry, found: BracketSet | None, rules: Rules, *, reset_dependents: bool) -> Entry:
    """Return the entry after a person has decided that the result in the bracket should be replaced.

    `found` is the set in the state that it has there now.
    """
    entry = msgspec.structs.replace(
        entry,
        confirmed=digest_of(report_of(entry)),
        overrules=ANY_RESULT if found is None else seen_digest(found),
        reset_dependents=reset_dependents,
        state=State.DUE,
        naming="",
    )
    return planned(entry, rules)


class Step(NamedTuple):
    """The next step for an entry."""

    do: Literal["report", "correct", "nothing"]
    entry: Entry


def next_step(entry: Entry, found: BracketSet) -> Step:
    """Return the next step, given the current state of the set in the bracket.

    Make sure that you store the entry that you get before you send anything.
    """
    entry = msgspec.structs.replace(entry, context=found.context)
    if not found.is_filled:
        return Step("nothing", _in(entry, entry.state, "the set of the bracket does not have both entrants yet"))
    if entry.naming == "others":
        return Step("nothing", entry)
    if found.entrant_ids == entry.entrants[::-1]:
        entry = _turned(entry)
    if found.entrant_ids != entry.entrants:
        return Step("nothing", _in(entry, State.ASK, "the set of the bracket has other entrants now"))
    report = report_of(entry)
    if found.state == "done":
        if is_same(report, found, entry.played.leader, swapped=entry.swapped):
            return Step("nothing", accepted(entry, report, found.winner))
        if entry.overrules and entry.overrules == seen_digest(found):
            return Step("correct", _sending(entry, report))
        state: State = State.FOLLOWING if report.winner is None else State.CONFLICT
        return Step("nothing", _in(entry, state, f"the bracket has another result: {result_text(found)}"))
    if found.games and not entry.overrules and not _is_ours(entry, report, found.games):
        return Step("nothing", _in(entry, State.CONFLICT, "somebody else has entered other games in the bracket"))
    return Step("report", _sending(entry, report))


def _turned(entry: Entry) -> Entry:
    """Return the entry after the bracket has swapped the entrants."""
    was_confirmed = entry.confirmed == digest_of(report_of(entry))
    entry = msgspec.structs.replace(
        entry,
        swapped=not entry.swapped,
        entrants=entry.entrants[::-1],
        names=entry.names[::-1],
        people=None if entry.people is None else entry.people[::-1],
        sent=(),
    )
    return msgspec.structs.replace(entry, confirmed=digest_of(report_of(entry)) if was_confirmed else "")


def accepted(entry: Entry, report: Report, winner: int | None) -> Entry:
    """Return the entry after a report has got to the bracket. If the set isn't complete there, `winner` is `None`."""
    return msgspec.structs.replace(
        entry,
        state=State.FOLLOWING if winner is None else State.DONE,
        why="",
        changed=False,
        accepted=digest_of(report),
        accepted_games=_winners(report),
        accepted_winner=winner,
        overrules="",
        reset_dependents=False,
    )


def refused(entry: Entry, why: str) -> Entry:
    """Return the entry with the reason why we have to try it again."""
    return msgspec.structs.replace(entry, why=why)


def renamed(entry: Entry, ids: Mapping[str, str]) -> Entry:
    """Return the entry after its sets have got new ids."""
    candidates = tuple(ids.get(id, id) for id in entry.candidates)
    return msgspec.structs.replace(entry, set_id=ids.get(entry.set_id, entry.set_id), candidates=candidates)


def found_again(entry: Entry, sets: Iterable[BracketSet]) -> Entry | None:
    """Return the entry with the new id of its set, which can't be found under the old id.

    If there isn't exactly one set that fits, this returns `None`.
    """
    same = [each for each in sets if each.place == entry.place and sorted(each.entrant_ids) == sorted(entry.entrants)]
    return msgspec.structs.replace(entry, set_id=same[0].id) if len(same) == 1 else None


def lost(entry: Entry) -> Entry:
    """Return the entry after its set has disappeared from the bracket."""
    return _in(entry, State.ASK, "the set is not in the bracket any more")


def taken_over(entry: Entry, other: Entry, rules: Rules) -> Entry:
    """Return the entry after a person has chosen a set for it that `other` began on another station."""
    doubt = entry.doubt
    if any(other.played.score):
        doubt = f"it began on {other.station}, at {'–'.join(map(str, other.played.score))}"
    return planned(msgspec.structs.replace(entry, sent=other.sent, doubt=doubt), rules)


def is_same(report: Report, found: BracketSet, leader: int | None, *, swapped: bool) -> bool:
    """Whether a set of the bracket has the same result as a report.

    If the set is still being played, we compare it as if it were over, because whoever reports it might have known
    better how long it is.
    """
    winner = report.winner
    if winner is None and leader is not None:
        winner = 1 - leader if swapped else leader
    if winner is None or found.winner != winner:
        return False
    if found.games and report.games is not None:
        return found.games == tuple(game.winner for game in report.games)
    if None not in found.scores:
        return found.scores == report.score
    return report.winner is not None


def result_text(found: BracketSet) -> str:
    """Return the result of a set in words for people."""
    if found.winner is None:
        return "no winner"
    winner = found.entrants[found.winner]
    score = "" if None in found.scores else f", {found.scores[0]}–{found.scores[1]}"
    return f"{'?' if winner is None else winner.name} won{score}"


def _is_ours(entry: Entry, report: Report, games: Sequence[int | None]) -> bool:
    """Whether we have reported the games in the bracket.

    This is the case if they belong to an earlier report, or if they are the first games of the current one.
    """
    text = "".join("?" if winner is None else str(winner) for winner in games)
    return text in entry.sent or (report.games is not None and _winners(report).startswith(text))


def _sending(entry: Entry, report: Report) -> Entry:
    sent = (*(each for each in entry.sent if each != _winners(report)), _winners(report))
    return msgspec.structs.replace(entry, sent=sent[-_KEPT_SENT:])


def _winners(report: Report) -> str:
    """Return the winners of the games. If we don't know the games, this is the score."""
    if report.games is None:
        return f"{report.score[0]}-{report.score[1]}"
    return "".join(str(game.winner) for game in report.games)


def _in(entry: Entry, state: State, why: str, *, changed: bool | None = None) -> Entry:
    return msgspec.structs.replace(entry, state=state, why=why, changed=entry.changed if changed is None else changed)
