"""Which character a player is: Zelda and Sheik change within a game.

From the post-frame `internal_character_id`, which changes for no other character. Damage and kills are credited to the
form that the player has when they happen.
"""

from __future__ import annotations

from slpstream.stats.extra import Played


class Forms:
    """The characters of one player, in the order in which they came first."""

    __slots__ = ("_all", "_now", "_since")

    def __init__(self) -> None:
        self._all: dict[int, Played] = {}
        self._now: Played | None = None
        self._since = 0

    def copy(self) -> Forms:
        """An independent computer at the same place."""
        twin = Forms()
        twin._all = {form.internal_character_id: _copy(form) for form in self._all.values()}
        if self._now is not None:
            twin._now = twin._all[self._now.internal_character_id]
        twin._since = self._since
        return twin

    def become(self, frame: int, character: int) -> int | None:
        """The player is a character from this frame on; returns who they were until now, `None` when the same."""
        before = self._now
        if before is not None:
            if before.internal_character_id == character:
                return None
            before.frames += frame - self._since
        self._since = frame
        self._now = self._all.setdefault(character, Played(character, 0, 0.0, 0))
        return None if before is None else before.internal_character_id

    def hit(self, damage: float) -> None:
        """The player did damage."""
        if self._now is not None:
            self._now.damage += damage

    def kill(self) -> None:
        """The player killed."""
        if self._now is not None:
            self._now.kills += 1

    def show(self, frame: int) -> list[Played]:
        """The value up to a frame, in which the player was last seen."""
        shown = [_copy(form) for form in self._all.values()]
        for form in shown:
            if self._now is not None and form.internal_character_id == self._now.internal_character_id:
                form.frames += frame - self._since + 1
        return shown


def _copy(form: Played) -> Played:
    return Played(form.internal_character_id, form.frames, form.damage, form.kills)
