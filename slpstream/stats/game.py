"""All stats of one Melee game, frame by frame: the computers put together.

Fed are final frames, each number once, in order. A frame costs a look at each player's state, percent and inputs; the
computers are called only when something begins or ends. What a computer says in a frame is collected and sent in the
order of the computers, then of the player indexes.

With `compat` the numbers are those that slippi-js 9.1.2 prints; see `compat`.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from slpstream.events import Event, Frame, GameEnd, GameEvent, StatsUpdate
from slpstream.slippi.commands import FIRST_FRAME
from slpstream.slippi.game_start import Settings
from slpstream.stats.actions import News
from slpstream.stats.conversions import judged, opening_type
from slpstream.stats.overall import overall, playable_frame_count
from slpstream.stats.player import Player
from slpstream.stats.punishes import RESET_FRAMES
from slpstream.stats.shapes import Combo, Conversion, Stats, Stock
from slpstream.stats.states import CONTROL, DYING, FLAGS, HELD, HIT

STATS_FRAMES = 60
"""A `stats` message after every final frame n with (n + 124) % 60 == 0."""
NOBODY = 6
"""`last_hit_by` of those whom nobody hit."""
_STOCKS, _PERCENT, _CONVERSIONS, _COMBOS, _ACTIONS = range(3, 8)

Entry = tuple[int, int, str, dict[str, Any]]
"""What is to be said: rank of the computer, player index, kind, payload."""


class SlippiStats:
    """The stats of one game. `crew`: who hit whom is told by `last_hit_by`, as with more than two players."""

    def __init__(self, settings: Settings, *, compat: bool = False, crew: bool = False) -> None:
        self._settings = settings
        self.compat = compat
        indexes = [player.player_index for player in settings.players]
        self._by_name = crew or len(indexes) != 2
        self._stocks: list[Stock] = []
        self._conversions: list[Conversion] = []
        self._combos: list[Combo] = []
        self._players = [Player(i, self._stocks, self._conversions, self._combos) for i in indexes]
        for player in self._players:
            player.opponents = [other for other in self._players if other is not player]
        self._last: int | None = None
        self._complete = False
        self._over = False
        self._has_counter: bool | None = None
        self._has_l_cancel = False
        self._news: list[Entry] = []
        self._ended: list[Conversion] = []

    # -- frames -------------------------------------------------------------------------------------------------------

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """One final frame; `end_offset` is that of what made it final."""
        number = frame.number
        present = frame.entry.players
        players = self._players
        for player in players:
            seen = present.get(player.index)
            if seen is None or seen.post is UNSET:
                players = [p for p in players if p.index in present and present[p.index].post is not UNSET]
                break
        if self._has_counter is None and players:
            self._look(present[players[0].index].post)
        has_counter = self._has_counter
        self._last = number
        news = self._news

        for player in players:
            player.prev = prev = player.post
            player.post = post = present[player.index].post
            if prev is None:
                if not FLAGS[post.action_state_id] & DYING:
                    self._spawn(player, number, post)
            else:
                if has_counter:
                    player.restarted = post.action_state_counter < prev.action_state_counter
                if post.stocks_remaining < prev.stocks_remaining:
                    self._lose(player, number, post, prev)
                if player.stocks.open is None and not FLAGS[post.action_state_id] & DYING:
                    self._spawn(player, number, post)

        for player in reversed(players):  # the lower port's opponent first: the order of slippi-js
            post, prev = player.post, player.prev
            state = post.action_state_id
            flags = FLAGS[state]
            if prev is None:
                prev_state, damage, lost = -1, post.percent, False
            else:
                prev_state = prev.action_state_id
                damage = post.percent - prev.percent
                lost = post.stocks_remaining < prev.stocks_remaining

            if damage and prev is not None:
                values = {"playerIndex": player.index, "percent": post.percent, "change": damage}
                news.append((_PERCENT, player.index, "percent_changed", values))

            hitter = player.hit_by
            if hitter is not None and (hitter.restarted or hitter.post.action_state_id != player.hit_state):
                player.hit_by = None
            if flags & HIT:
                self._hit(player, number, damage)
            if player.conversions.open is not None:
                punish = player.conversions
                if flags & HIT:
                    punish.counter = 0
                elif punish.counter or flags & CONTROL:
                    punish.counter += 1
                if lost or punish.counter > RESET_FRAMES:
                    self._end_conversion(player, number, lost)
            if player.combos.open is not None:
                combo = player.combos
                combo.counter = 0 if flags & HELD else combo.counter + 1
                if lost or combo.counter > RESET_FRAMES:
                    self._end_combo(player, number, lost)

            if state != prev_state or player.restarted:
                said: News = []
                player.actions.begin(number, post, prev, [o.post for o in player.opponents if o.post is not None], said)
                if said:
                    news += [(_ACTIONS, player.index, kind, values) for kind, values in said]
            elif player.actions.due is not None:
                said = []
                player.actions.wait(number, said)
                news += [(_ACTIONS, player.index, kind, values) for kind, values in said]

            pre = present[player.index].pre
            if pre is not UNSET:
                player.inputs.update(number, pre)

        if self._ended:
            self._judge()
        out: list[Event] = self._say(number, end_offset) if news else []
        if (number - FIRST_FRAME + 1) % STATS_FRAMES == 0:
            out.append(StatsUpdate(end_offset, number, self.stats()))
        return out

    def finish(self, end: GameEnd) -> list[Event]:
        """No more frames will come."""
        self._over = True
        self._complete = end.game_end is not None
        for player in self._players:
            said: News = []
            player.actions.finish(said)
            self._news += [(_ACTIONS, player.index, kind, values) for kind, values in said]
        last = FIRST_FRAME - 1 if self._last is None else self._last
        out = self._say(last, end.end_offset)
        out.append(StatsUpdate(end.end_offset, last, self.stats()))
        return out

    def _look(self, post: Any) -> None:
        self._has_counter = post.action_state_counter is not UNSET

    def _say(self, number: int, end_offset: int) -> list[Event]:
        news = self._news
        if len(news) > 1:
            news.sort(key=_order)
        said: list[Event] = [GameEvent(end_offset, kind, number, values) for _, _, kind, values in news]
        self._news.clear()
        return said

    # -- what begins and ends -----------------------------------------------------------------------------------------

    def _lose(self, player: Player, number: int, post: Any, prev: Any) -> None:
        stock = player.stocks.lose(number, post, prev.percent)
        if stock is not None:
            self._news.append((_STOCKS, player.index, "stock_lost", {"playerIndex": player.index, "stock": stock}))

    def _spawn(self, player: Player, number: int, post: Any) -> None:
        player.stocks.spawn(number, post)
        values = {"playerIndex": player.index, "stocksRemaining": post.stocks_remaining}
        self._news.append((_STOCKS, player.index, "player_spawned", values))

    def _hit(self, player: Player, number: int, damage: float) -> None:
        index = player.index
        hitter = self._hitter(player)
        percent = 0.0 if player.prev is None else player.prev.percent
        conversions, combos = player.conversions, player.combos
        by = None if hitter is None else hitter.index
        if conversions.open is None:
            conversion = conversions.begin(number, percent, by)
            values = {"playerIndex": index, "lastHitBy": by}
            self._news.append((_CONVERSIONS, index, "conversion_started", values))
        began = combos.open is None
        if began:
            combos.begin(number, percent, by)
        if damage and hitter is not None:
            if player.hit_by is None:
                move_id = hitter.post.last_attack_landed
                conversions.add(number, hitter.index, move_id, damage)
                combos.add(number, hitter.index, move_id, damage)
            else:
                conversions.repeat(damage)
                combos.repeat(damage)
            player.hit_by = hitter
            player.hit_state = -1 if hitter.prev is None else hitter.prev.action_state_id

    def _hitter(self, player: Player) -> Player | None:
        if not self._by_name:
            return player.opponents[0]
        by = player.post.last_hit_by
        return next((other for other in player.opponents if other.index == by), None)

    def _end_conversion(self, player: Player, number: int, lost: bool) -> None:
        prev = player.prev.percent
        conversion = player.conversions.end(number, prev if lost else player.post.percent, prev, killed=lost)
        if conversion is not None:
            self._ended.append(conversion)

    def _end_combo(self, player: Player, number: int, lost: bool) -> None:
        prev = player.prev.percent
        combo = player.combos.end(number, prev if lost else player.post.percent, prev, killed=lost)
        self._news.append((_COMBOS, player.index, "combo_ended", {"playerIndex": player.index, "combo": combo}))

    def _judge(self) -> None:
        for conversion in self._ended:
            conversion.opening_type = opening_type(conversion, self._conversions, over=False)
            index = conversion.player_index
            values = {"playerIndex": index, "conversion": conversion}
            self._news.append((_CONVERSIONS, index, "conversion_ended", values))
        self._ended.clear()

    # -- the value ----------------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """The stats as of the last frame."""
        last = FIRST_FRAME - 1 if self._last is None else self._last
        stocks, conversions, combos = list(self._stocks), list(self._conversions), list(self._combos)
        for player in self._players:
            player.stocks.show(stocks, player.percent)
            player.conversions.show(conversions, player.percent)
            player.combos.show(combos, player.percent)
        conversions = judged(conversions, over=self._over)
        playable = playable_frame_count(last)
        opponents = {player.index: [other.index for other in player.opponents] for player in self._players}
        return Stats(
            game_complete=self._complete,
            last_frame=last,
            playable_frame_count=playable,
            stocks=stocks,
            conversions=conversions,
            combos=combos,
            action_counts=[player.actions.show() for player in self._players],
            overall=overall(
                opponents, conversions, {player.index: player.inputs.counts() for player in self._players}, playable
            ),
        )


def _order(entry: Entry) -> tuple[int, int]:
    return entry[:2]
