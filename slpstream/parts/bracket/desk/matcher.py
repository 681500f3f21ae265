"""Find the set of the bracket to which an entry of the queue belongs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from slpstream.parts.bracket import queue
from slpstream.parts.bracket.desk.entries import Entries
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.matching import Match, match
from slpstream.parts.bracket.played import Played
from slpstream.parts.bracket.queue import Entry, State


class Matcher:
    """Matches entries with the sets of a bracket. It returns the changed entries, but doesn't store anything."""

    def __init__(
        self,
        entries: Entries,
        known: KnownBracket,
        policy: Policy,
        now_ms: Callable[[], int],
        *,
        reads: bool,
    ) -> None:
        """Pass `reads=False` if the sets of the bracket can't be read.

        Then each set that is played counts as a set of the bracket.
        """
        self._entries = entries
        self._known = known
        self._policy = policy
        self._now_ms = now_ms
        self._reads = reads

    def with_played(self, entry: Entry, played: Played) -> Entry:
        """Return the entry after its set has changed on the station."""
        if self._policy.dry_run and played.over and not entry.doubt:
            entry = msgspec.structs.replace(entry, doubt="it was played in a dry run")
        if played.who != entry.played.who:
            entry = self._with_names(msgspec.structs.replace(entry, settled=False), played)
        entry = queue.with_played(entry, played, self._policy.rules, self._now_ms())
        return entry if entry.set_id else self.matched(entry)

    def matched(self, entry: Entry) -> Entry:
        """Return the entry after we have searched for its set in the bracket."""
        if not self._reads:
            return queue.taken_as_result(entry, self._policy.rules)
        if entry.state == State.DROPPED or entry.settled:
            return entry
        return queue.with_match(entry, self._match_of(entry), self._policy.rules)

    def _with_names(self, entry: Entry, played: Played) -> Entry:
        """Return the entry after its players have got other names."""
        if not entry.set_id or entry.state == State.DROPPED:
            return entry
        if not self._reads:
            return queue.with_names_of_result(entry, played.names, self._policy.rules)
        if not (entry.sent or entry.by_person or entry.state == State.DONE):
            return queue.unassigned(entry)
        return queue.with_names(entry, played, self._policy.rules)

    def _match_of(self, entry: Entry) -> Match:
        if not self._known.sets:
            return Match(why="the sets of the bracket have not been read yet; this one is matched when they are")
        held, elsewhere = self._entries.held, self._entries.in_progress_elsewhere(entry.station)
        rule = self._policy.match
        return match(entry.played, self._known.open_sets, entry.station, held, rule, elsewhere=elsewhere)
