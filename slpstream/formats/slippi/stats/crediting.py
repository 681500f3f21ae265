"""Decide which player should be credited with each hit, conversion, combo and kill in a game."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.damage import HURT_THEMSELVES, is_magnifying_glass
from slpstream.formats.slippi.stats.conversions import opening_type
from slpstream.formats.slippi.stats.extra import FirstBlood
from slpstream.formats.slippi.stats.frame_events import COMBOS, CONVERSIONS, HIGHLIGHTS, PendingEvent
from slpstream.formats.slippi.stats.highlights import highlight_of_conversion, highlight_of_stock
from slpstream.formats.slippi.stats.player import Player
from slpstream.formats.slippi.stats.punishes import RESET_FRAMES
from slpstream.formats.slippi.stats.roster import Roster
from slpstream.formats.slippi.stats.schema import Conversion
from slpstream.formats.slippi.stats.states import CAPTURED, THROWING, THROWN, is_attack
from slpstream.model import highlight
from slpstream.model.highlight import Highlight


class Crediting:
    """Credits the hits of one game, and ends its conversions and combos.

    With `compat`, you get the same numbers as from slippi-js. `crew` has the same meaning as in `SlippiStats`. Events
    are added to `pending`.
    """

    def __init__(self, roster: Roster, pending: list[PendingEvent], *, compat: bool, crew: bool) -> None:
        self._roster = roster
        self._pending = pending
        self._compat = compat
        self.crew = crew
        self.counts_all_damage = not compat
        """Whether damage without hitstun is credited too, and each first move of a conversion counts."""
        self._uses_last_hit_by = crew or not roster.is_pair
        self._any_hit = False
        self.first_blood: FirstBlood | None = None
        self.ended: list[Conversion] = []
        """The conversions that ended in the current frame."""

    def copy(self, roster: Roster, pending: list[PendingEvent]) -> Crediting:
        """Return a copy of this computer that is independent from then on. You have to pass a copy of the roster."""
        twin = Crediting(roster, pending, compat=self._compat, crew=self.crew)
        twin.counts_all_damage = self.counts_all_damage
        twin._any_hit = self._any_hit
        twin.first_blood = self.first_blood
        return twin

    def hit(self, player: Player, number: int, damage: float, flags: int) -> None:
        """Take a frame in which a player is damaged or grabbed."""
        index, conversions, combos = player.index, player.conversions, player.combos
        opponents = self._roster.opponents[index]
        hitter = self._hitter(player) if self._uses_last_hit_by or opponents[0].post is None else opponents[0]
        opens = hitter in opponents if hitter is not None else flags & CAPTURED
        percent = player.prev.percent
        by = UNSET if hitter is None else hitter.index
        starts = opens and conversions.open is None
        if starts:
            conversions.begin(number, percent, by)
        combo_starts = opens and combos.open is None
        if combo_starts:
            combos.begin(number, percent, by)
        if damage and hitter is None and player.post.last_hit_by == index:
            pass  # self-inflicted damage is not credited to the next hitter
        elif damage and hitter is None:
            others = self._roster.others[index]
            move_ids = {other.index: other.post.last_attack_landed for other in others if other.post is not None}
            conversions.defer(number, damage, move_ids)
            combos.defer(number, damage, move_ids)
        elif damage and hitter is not None:
            self._credit(player, hitter, number, damage)
        now = max(percent, player.post.percent)  # the percent is 0 again when the stock is lost in this frame
        if starts:
            values = {"playerIndex": index, "conversion": conversions.value(now)}
            self._pending.append((CONVERSIONS, index, "conversion_started", values))
        if combo_starts:
            self._pending.append((COMBOS, index, "combo_started", {"playerIndex": index, "combo": combos.value(now)}))
        elif damage and combos.open is not None:
            self._pending.append((COMBOS, index, "combo_extended", {"playerIndex": index, "combo": combos.value(now)}))

    def hit_without_stun(self, player: Player, number: int, damage: float) -> None:
        """Credit damage to a player that isn't in hitstun.

        This can be the first hit of a throw, a laser or a phantom hit.
        """
        hitter = self._thrower(player) if player.post.action_state_id in THROWN else self._unseen_hitter(player, damage)
        if hitter is None:
            return
        self._credit(player, hitter, number, damage)
        if player.combos.open is not None:
            values = {"playerIndex": player.index, "combo": player.combos.value(player.post.percent)}
            self._pending.append((COMBOS, player.index, "combo_extended", values))

    def _thrower(self, player: Player) -> Player | None:
        """Return the nearest player that is throwing.

        If there are two players, this is the other one, whose throw might just have ended.
        """
        others = [other for other in self._roster.others[player.index] if other.post is not None]
        if self._roster.is_pair:
            return others[0] if others else None
        throwing = [other for other in others if other.post.action_state_id in THROWING]
        return min(throwing, key=lambda other: _squared_distance(player, other), default=None)

    def _unseen_hitter(self, player: Player, damage: float) -> Player | None:
        """Return the player who dealt damage that caused neither hitstun nor a throw, or `None` if no player did."""
        post = player.post
        if is_magnifying_glass(damage):
            return None
        hitter = self._hitter(player)
        newly_hit = hitter is not None and post.last_hit_by != player.prev.last_hit_by
        if not newly_hit and post.internal_character_id in HURT_THEMSELVES and is_attack(post.action_state_id):
            return None
        opponents = self._roster.opponents[player.index]
        if not self._uses_last_hit_by and opponents[0].post is not None:
            return opponents[0]
        return hitter

    def _credit(self, player: Player, hitter: Player, number: int, damage: float) -> None:
        """Credit damage to the move of the given hitter."""
        self._any_hit = True
        index, conversions, combos = player.index, player.conversions, player.combos
        new_move = player.last_hit is None or player.last_hit[0] != hitter.index
        credited = damage
        move_id = hitter.post.last_attack_landed
        if new_move or (self.counts_all_damage and not conversions.has_move):
            credited += conversions.add(number, hitter.index, move_id, damage)
        else:
            conversions.repeat(damage)
        if new_move or (self.counts_all_damage and not combos.has_move):
            combos.add(number, hitter.index, move_id, damage)
        else:
            combos.repeat(damage)
        hitter.hits.add(index, credited, new_move=new_move)
        if conversions.open is None and player in self._roster.opponents[hitter.index]:
            hitter.hits.outside_damage += damage
        hitter.forms.add_damage(credited)
        player.last_hit = hitter.index, hitter.prev.action_state_id

    def _hitter(self, player: Player) -> Player | None:
        """Return the player that `last_hit_by` refers to, or `None` if there's no such player."""
        by = player.post.last_hit_by
        for other in self._roster.others[player.index]:
            if other.index == by and other.post is not None:
                return other
        return None

    def end(self, player: Player, number: int, *, dies: bool) -> None:
        """If the conversion or the combo on a player is over, end it."""
        before = player.prev.percent
        now = before if dies else player.post.percent
        index, conversions, combos = player.index, player.conversions, player.combos
        if conversions.open is not None and (dies or conversions.counter > RESET_FRAMES):
            self.ended.append(conversions.end(number, now, before, killed=dies))  # type: ignore[arg-type]
        elif dies:
            by = self._hitter(player) if self._uses_last_hit_by else None
            if by is not None:
                by.hits.add_kill(index)
            elif self.crew and not self._any_hit:
                player.stocks.given_up += 1
            else:
                player.stocks.self_destructs += 1
            self._note_last_stock(index, number)
        if combos.open is not None and (dies or combos.counter > RESET_FRAMES):
            combo = combos.end(number, now, before, killed=dies)
            self._pending.append((COMBOS, index, "combo_ended", {"playerIndex": index, "combo": combo}))

    def close_conversions(self) -> None:
        """Decide the opening type of the conversions that have ended in this frame, and credit their kills."""
        for conversion in self.ended:
            conversion.opening_type = opening_type(conversion, self._roster.lists.conversions, over=self._compat)
            index = conversion.player_index
            values = {"playerIndex": index, "conversion": conversion}
            self._pending.append((CONVERSIONS, index, "conversion_ended", values))
            if conversion.did_kill:
                self._credit_kill(conversion)
            self._note_highlight(highlight_of_conversion(conversion, self._roster.lists.stocks, self._roster.teams))
        self.ended.clear()

    def _note_highlight(self, found: Highlight | None) -> None:
        if found is not None:
            self._pending.append((HIGHLIGHTS, found.player_index, highlight.KIND, msgspec.to_builtins(found)))

    def _note_last_stock(self, index: int, number: int) -> None:
        """If a player has just lost a stock outside of a conversion, and this is a highlight, note it."""
        if self._roster.is_pair:
            stocks, opponent = self._roster.lists.stocks, self._roster.others[index][0].index
            lost = [stock for stock in stocks if stock.player_index == index and stock.end_frame == number]
            for stock in lost:
                self._note_highlight(highlight_of_stock(stock, opponent, stocks))

    def _credit_kill(self, conversion: Conversion) -> None:
        """Credit the kill of a conversion to the player who hit last."""
        victim, by = conversion.player_index, conversion.last_hit_by
        for player in self._roster.players:
            if player.index == by:
                player.hits.add_kill(victim)
                if all(other.index != victim for other in self._roster.opponents[by]):
                    return
                player.hits.add_kill_move(conversion)
                player.forms.add_kill()
                if self.first_blood is None:
                    frame: Any = conversion.end_frame
                    self.first_blood = FirstBlood(frame, victim, player.index)


def _squared_distance(one: Player, other: Player) -> float:
    x, y = one.post.position_x - other.post.position_x, one.post.position_y - other.post.position_y
    return float(x * x + y * y)
