"""Change sets in the bracket. We can assign them to stations, start them and call their players."""

from __future__ import annotations

import msgspec

from slpstream.parts.bracket.desk.chores import Chore, Verb, chores
from slpstream.parts.bracket.desk.entries import Entries, rename_sets
from slpstream.parts.bracket.desk.known_bracket import KnownBracket
from slpstream.parts.bracket.desk.link import PAUSING
from slpstream.parts.bracket.desk.policy import Policy
from slpstream.parts.bracket.interface import Bracket, Outcome, Refused
from slpstream.system.logs import get_logger


class SetChanger:
    """Makes the changes that the policy or a person wants."""

    def __init__(self, bracket: Bracket, entries: Entries, known: KnownBracket, policy: Policy) -> None:
        self._bracket = bracket
        self._entries = entries
        self._known = known
        self._policy = policy
        self._refused: set[tuple[Verb, str]] = set()
        """Chores that the bracket has refused, by verb and set. They are not tried again."""
        self._log = get_logger()

    async def do_chores(self) -> None:
        """Assign, start and call sets according to the configuration.

        If the bracket refuses everything, this raises `Refused`.
        """
        for chore in chores(self._entries.values(), self._known, self._policy):
            if (chore.verb, chore.set_id) in self._refused:
                continue
            try:
                await self.change(chore)
            except Refused as refusal:
                if refusal.kind in PAUSING:
                    raise
                self._refused.add((chore.verb, chore.set_id))
                self._log.warning(
                    "the bracket refuses a change", what=refusal.what, change=chore.verb, set=chore.set_id
                )

    def retry_refused(self) -> None:
        """Try those chores again that were refused before."""
        self._refused.clear()

    async def change(self, chore: Chore) -> None:
        """Change a set. Raises `Refused` if the bracket doesn't accept this."""
        verb, set_id, station_id = chore
        try:
            outcome = await self._send(chore)
        except Refused as refusal:
            await rename_sets(refusal.renamed, self._entries, self._known)
            if refusal.kind != "already":
                raise
            outcome = Outcome()
        await rename_sets(outcome.renamed, self._entries, self._known)
        set_id = outcome.renamed.get(set_id, set_id)
        found = self._known.sets.get(set_id)
        if found is not None and verb == "assign":
            self._known.put(msgspec.structs.replace(found, station=self._known.stations.get(station_id)))
        elif found is not None:
            self._known.put(msgspec.structs.replace(found, state="called" if verb == "call" else "running"))
        self._log.info("set changed in the bracket", change=verb, set=set_id)

    async def _send(self, chore: Chore) -> Outcome:
        if chore.verb == "assign":
            return await self._bracket.assign(chore.set_id, chore.station_id)
        if chore.verb == "call":
            return await self._bracket.call(chore.set_id)
        return await self._bracket.start(chore.set_id)
