"""Things that people decide about the entries of a queue and the sets of a bracket."""

from __future__ import annotations

from collections.abc import Callable

from slpstream.model.errors import ActRefused
from slpstream.parts.bracket import queue
from slpstream.parts.bracket.desk.changer import SetChanger
from slpstream.parts.bracket.desk.chores import Chore, Verb
from slpstream.parts.bracket.desk.entries import Entries, Key
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.interface import Bracket
from slpstream.parts.bracket.queue import Entry, State


class Decisions:
    """Carries out decisions. Each of them changes an entry, stores it, and wakes the reporter."""

    def __init__(
        self,
        bracket: Bracket | None,
        changer: SetChanger | None,
        entries: Entries,
        known: KnownBracket,
        policy: Policy,
        retry_now: Callable[[Key], None],
    ) -> None:
        """If it isn't possible to read the sets of the bracket, `bracket` and `changer` are `None`.

        `retry_now` makes the reporter work on an entry without waiting any longer.
        """
        self._bracket = bracket
        self._changer = changer
        self._entries = entries
        self._known = known
        self._policy = policy
        self._retry_now = retry_now

    async def assign(self, key: Key, set_id: str, *, swapped: bool) -> Entry:
        """Decide to which set of the bracket an entry belongs. Raises `ActRefused` if that isn't possible."""
        found = self._known.sets.get(set_id)
        if found is None:
            raise ActRefused(f"the bracket has no set {set_id}")
        if not found.is_filled:
            raise ActRefused("the set of the bracket does not have both entrants yet")
        async with self._entries.changing:
            entry = self._entry(key)
            if entry.state in _SENT:
                raise ActRefused("it was reported already" if entry.state == State.DONE else "its report is being sent")
            others = [each for each in self._entries.held.get(set_id, ()) if each.key != key]
            for other in others:
                is_reported = other.state in _SENT and queue.report_of(other).winner is not None
                if other.played.over or is_reported:
                    raise ActRefused(f"that set was played on {other.station}")
            changed = queue.assigned(entry, found, self._policy.rules, swapped=swapped, by_person=True)
            for other in others:  # it was moved to this station
                changed = queue.taken_over(changed, other, self._policy.rules)
            await self._entries.keep([changed, *(queue.dropped(other) for other in others)])
        self._retry_now(key)
        return changed

    async def confirm(self, key: Key) -> Entry:
        """Confirm the current report of an entry. If there's nothing to confirm, this raises `ActRefused`."""

        def confirm(entry: Entry) -> Entry:
            if entry.state != State.CONFIRM:
                raise ActRefused("there is nothing to confirm")
            return queue.confirmed(entry, self._policy.rules)

        return await self._change(key, confirm)

    async def drop(self, key: Key) -> Entry:
        """Decide that an entry should not be reported. If it was already reported, this raises `ActRefused`."""

        def drop(entry: Entry) -> Entry:
            if entry.state == State.DONE:
                raise ActRefused("it was reported already")
            return queue.dropped(entry)

        return await self._change(key, drop)

    async def correct(self, key: Key, *, reset_dependents: bool) -> Entry:
        """Replace the result in the bracket by the one that was played.

        Raises `ActRefused` or `Refused` if that isn't possible.
        """
        entry = self._entry(key)
        if entry.state not in (State.CONFLICT, State.DONE) or not entry.set_id:
            raise ActRefused("there is no result in the bracket that could be replaced")
        if queue.report_of(entry).winner is None:
            raise ActRefused("the set here has no winner")
        found = None if self._bracket is None else await self._bracket.read(entry.set_id)
        report = queue.report_of(entry)
        if found is not None and found.state == "done" and found.winner == report.winner and report.games is None:
            raise ActRefused("the bracket has this winner already, and which games were won is not known")
        return await self._change(
            key, lambda entry: queue.to_correct(entry, found, self._policy.rules, reset_dependents=reset_dependents)
        )

    async def change_set(self, verb: Verb, set_id: str, station: str = "") -> None:
        """Call a set, mark it as being played, or assign it to our station.

        Raises `ActRefused` or `Refused` if that isn't possible.
        """
        if self._policy.dry_run:
            raise ActRefused("this is a dry run: nothing is changed in the bracket")
        if self._changer is None or set_id not in self._known.sets:
            raise ActRefused(f"the bracket has no set {set_id}")
        theirs = next((id for id, ours in self._known.here.items() if ours == station), None)
        if verb == "assign" and theirs is None:
            raise ActRefused(f"the bracket has no station for {station}")
        await self._changer.change(Chore(verb, set_id, theirs or ""))

    def _entry(self, key: Key) -> Entry:
        if key not in self._entries:
            raise ActRefused("there is no such set")
        return self._entries[key]

    async def _change(self, key: Key, change: Callable[[Entry], Entry]) -> Entry:
        async with self._entries.changing:
            changed = change(self._entry(key))
            await self._entries.keep([changed])
        self._retry_now(key)
        return changed


_SENT = (State.DUE, State.DONE)
