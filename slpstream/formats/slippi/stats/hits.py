"""Who hit whom: the damage, moves and kills that are credited to each player, and to the characters of the player.

If there are two players, this is easy, because each hit is the other player's. With more players, and in a crew battle,
we use the Post-Frame field `last_hit_by` of the player that was hit, which contains the player index of the hitter. The
game sets it together with the damage, and resets it to 6 once the player stands again. A grab doesn't set it before the
throw. So if there's damage during a grab, it has to wait in its conversion until there is a player in `last_hit_by`.

If someone hits a team-mate, you only see this in `exchanges`. It doesn't open a conversion, and isn't part of any
ratio.

Some damage comes without hitstun (observed in the replays of the tests, where all other damage adds up):

- the first hit of a throw, in the thrown states 0xEF to 0xF3: the hitter is in a throwing state, 0xDB to 0xDE, and its
  `last_attack_landed` is the throw already;
- lasers, and hits that just touch (phantom hits): with two players they are the other's, with more that of
  `last_hit_by`, if it has a player. They open no conversion;
- the magnifying glass takes exactly 1 % at a time from a player that is off screen. No player dealt it;
- Pichu, Roy and Mr. Game & Watch hurt themselves with some of their moves (guessed: documented for the game, but in no
  replay of the tests). No player dealt it.

slippi-js doesn't count any of these, so with `compat` we don't count them either.

Damage and kills are also credited to the form that the player has at that time, which is the character according to the
Post-Frame field `internal_character_id`. There can only be more than one form if it is Zelda or Sheik.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from msgspec import UNSET

from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.stats.schema import CharacterTotals, Conversion, HitTotals, KillMove


class Hits(Computer):
    """The hits that one player has landed on the others."""

    def __init__(self) -> None:
        self._moves: defaultdict[int, int] = defaultdict(int)
        self._kills: defaultdict[int, int] = defaultdict(int)
        self._damage: defaultdict[int, float] = defaultdict(float)
        self.outside_damage = 0.0
        """Damage to opponents outside any conversion, by hits that caused no hitstun."""
        self.kill_moves: list[KillMove] = []
        self._form: int | None = None
        self._form_since = 0
        self._form_frames: defaultdict[int, int] = defaultdict(int)
        self._form_kills: defaultdict[int | None, int] = defaultdict(int)
        self._form_damage: defaultdict[int | None, float] = defaultdict(float)

    def add(self, victim: int, damage: float, *, new_move: bool) -> None:
        """Count damage to a player. If it's just another hit of the same move, pass `new_move=False`."""
        self._moves[victim] += new_move
        self._damage[victim] += damage
        self._form_damage[self._form] += damage

    def add_kill(self, victim: int) -> None:
        """Count a stock that a player has lost to this one."""
        self._kills[victim] += 1

    def add_kill_move(self, conversion: Conversion) -> None:
        """Remember which move of a conversion took the opponent's stock."""
        frame: Any = conversion.end_frame
        percent: Any = conversion.end_percent
        move_id = conversion.moves[-1].move_id if conversion.moves else UNSET
        self.kill_moves.append(KillMove(frame, conversion.player_index, move_id, percent, conversion.opening_type))
        self._form_kills[self._form] += 1

    def transform(self, frame: int, character: int) -> int | None:
        """Note which character the player is in the given frame.

        If it isn't the same as before, this returns the previous character, and otherwise `None`.
        """
        before = self._form
        if before == character:
            return None
        if before is not None:
            self._form_frames[before] += frame - self._form_since
        self._form_frames[character] += 0
        self._form, self._form_since = character, frame
        return before

    def totals(self) -> list[HitTotals]:
        """Return one entry for each player that was hit, by player index."""
        victims = sorted(self._moves.keys() | self._kills.keys())
        return [HitTotals(each, self._moves[each], self._damage[each], self._kills[each]) for each in victims]

    def character_totals(self, frame: int) -> list[CharacterTotals]:
        """Return the totals of each form, in order of first appearance.

        `frame` is the last frame in which this player was present.
        """
        frames = self._form_frames.copy()
        if self._form is not None:
            frames[self._form] += frame + 1 - self._form_since
        return [
            CharacterTotals(form, count, self._form_damage[form], self._form_kills[form])
            for form, count in frames.items()
        ]
