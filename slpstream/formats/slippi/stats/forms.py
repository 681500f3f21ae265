"""The characters that a player has been in a game. There can only be more than one if it is Zelda or Sheik.

We know this from the Post-Frame field `internal_character_id`. Damage and kills are credited to the form that the
player has at that time.
"""

from __future__ import annotations

from slpstream.formats.slippi.stats.extra import CharacterTotals


class Forms:
    """The forms of one player, in order of first appearance."""

    __slots__ = ("_all", "_now", "_since")

    def __init__(self) -> None:
        self._all: dict[int, CharacterTotals] = {}
        self._now: CharacterTotals | None = None
        self._since = 0

    def copy(self) -> Forms:
        """Return a copy of this computer. It has the same state, but is independent from then on."""
        twin = Forms()
        twin._all = {form.internal_character_id: _copy(form) for form in self._all.values()}
        if self._now is not None:
            twin._now = twin._all[self._now.internal_character_id]
        twin._since = self._since
        return twin

    def change(self, frame: int, character: int) -> int | None:
        """Note which character the player is in the given frame.

        If it isn't the same as before, this returns the previous character, and otherwise `None`.
        """
        before = self._now
        if before is not None:
            if before.internal_character_id == character:
                return None
            before.frames += frame - self._since
        self._since = frame
        self._now = self._all.setdefault(character, CharacterTotals(character, 0, 0.0, 0))
        return None if before is None else before.internal_character_id

    def add_damage(self, damage: float) -> None:
        """Credit damage to the current form."""
        if self._now is not None:
            self._now.damage += damage

    def add_kill(self) -> None:
        """Credit a kill to the current form."""
        if self._now is not None:
            self._now.kills += 1

    def totals(self, frame: int) -> list[CharacterTotals]:
        """Return the totals of each form. `frame` is the last frame in which this player was present."""
        totals = [_copy(form) for form in self._all.values()]
        for form in totals:
            if self._now is not None and form.internal_character_id == self._now.internal_character_id:
                form.frames += frame - self._since + 1
        return totals


def _copy(form: CharacterTotals) -> CharacterTotals:
    return CharacterTotals(form.internal_character_id, form.frames, form.damage, form.kills)
