"""All stats of one Melee game, frame by frame: the computers put together.

The input is final frames, each number once, in order. In every frame it looks at each player's state, percent, position
and inputs; the computers are called only when something begins, ends or hits. The events of a frame are collected and
emitted in the order of the computers, then of the player indices. With `compat` the numbers are those of slippi-js
9.1.2; see `compat`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Self

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME
from slpstream.formats.slippi.damage import HURT_THEMSELVES, is_magnifying_glass
from slpstream.formats.slippi.falls import Fall, FallCounter
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import playable_frames, timer_start
from slpstream.formats.slippi.names import stage_edge
from slpstream.formats.slippi.score import PlayerScore
from slpstream.formats.slippi.stage_places import BELOW
from slpstream.model import highlight
from slpstream.model.events import Event, Frame, GameEnd, GameEvent, StatsUpdate
from slpstream.model.highlight import Highlight
from slpstream.stats import compat as slippi_js
from slpstream.stats.conversions import opening_type, with_opening_types
from slpstream.stats.extra import Extra, FirstBlood, PlayerExtra
from slpstream.stats.highlights import highlight_of_conversion, highlight_of_stock
from slpstream.stats.home_run import MAJOR_SCENE_HOME_RUN, SANDBAG, HomeRun, home_run
from slpstream.stats.overall import overall, ratio
from slpstream.stats.pauses import Pauses, RollbackCounter
from slpstream.stats.player import Lists, Player
from slpstream.stats.positions import CONTROL_MARGIN
from slpstream.stats.punishes import RESET_FRAMES
from slpstream.stats.schema import Conversion, Stats, entry_count
from slpstream.stats.selected import Selection
from slpstream.stats.states import (
    CAPTURED,
    CONTROL,
    DYING,
    FLAGS,
    HELD,
    HIT,
    LEDGE,
    SHIELD,
    THROWING,
    THROWN,
    is_attack,
)
from slpstream.stats.targets import MAJOR_SCENE_TARGET_TEST, Targets, TargetTest
from slpstream.stats.timer import timer_text

STATS_FRAMES = 60
"""A `stats` message after every final frame n with (n + 124) % 60 == 0, or less often in a very long game."""
STATS_ENTRIES = 500
"""From twice as many entries in its lists on, a game has a `stats` message every (entries // 500) * 60 frames.

Each message has the whole lists. At a fixed interval, the messages of a game would grow with the square of its length,
to 700 MB for 33 minutes with a conversion each second. The real games of the tests have at most 320 entries.
"""
PAIR = 2
"""Number of players in a game in which each is the other's only opponent."""

_ROLLBACKS, _PAUSES, _FORMS, _STOCKS, _PERCENT, _CONVERSIONS, _COMBOS, _ACTIONS, _HIGHLIGHTS = range(9)
"""The order of the computers, which is that of their events within a frame."""

PendingEvent = tuple[int, int, str, dict[str, Any]]
"""An event of the current frame: rank of the computer, player index, kind, payload."""


class SlippiStats:
    """The stats of one game.

    `crew` is for crew battles: hitters are found by `last_hit_by`, as with more than two players, and stocks that are
    given up before the first hit are counted separately.
    """

    def __init__(self, settings: Settings, *, compat: bool = False, crew: bool = False) -> None:
        self.settings = settings
        self.crew = crew
        self._gate = slippi_js.FrameGate(settings) if compat else None
        indices = [player.player_index for player in settings.players]
        self._pair = len(indices) == PAIR
        self._uses_last_hit_by = crew or not self._pair
        self._unsupported = compat and not self._pair
        self.counts_all_damage = not compat
        self._lists = Lists([], [], [])
        edge = stage_edge(settings.stage_id)
        self._edge = float("inf") if edge is None else edge
        self._players = [Player(index, self._lists, edge) for index in indices]
        self._teams = (
            {p.player_index: p.team_id for p in settings.players} if settings.is_teams and not self._pair else {}
        )
        self._link_players()
        self._selection = Selection()
        self._pauses = Pauses()
        self._rollbacks = RollbackCounter()
        self._falls = None if compat or settings.takes_stocks else FallCounter(settings)
        """Decides which lives end, in modes without stocks."""
        self._targets = Targets() if settings.game_mode == MAJOR_SCENE_TARGET_TEST else None
        self._first_blood: FirstBlood | None = None
        self._first: int | None = None
        self._last: int | None = None
        self._starts_at = 0
        """The frame in which the timer starts; for slippi-js always 0."""
        self._stats_due = FIRST_FRAME
        self._any_hit = False
        self._complete = False
        self._over = False
        self._has_counter = False
        self._pending: list[PendingEvent] = []
        self._ended_conversions: list[Conversion] = []

    def copy(self) -> Self:
        """Independent stats in the same state. Closed entries are shared, so a copy is cheap."""
        twin = copy.copy(self)
        twin._gate = None if self._gate is None else self._gate.copy()
        twin._lists = self._lists.copy()
        twin._players = [player.copy(twin._lists) for player in self._players]
        twin._link_players()
        twin._selection = self._selection.copy()
        twin._pauses = self._pauses.copy()
        twin._rollbacks = self._rollbacks.copy()
        twin._falls = None if self._falls is None else self._falls.copy()
        twin._targets = None if self._targets is None else self._targets.copy()
        twin._pending = []
        twin._ended_conversions = []
        return twin

    def _link_players(self) -> None:
        """Fill the tables of each player's other players and opponents, by player index."""
        # Not in `Player`: players that refer to each other are freed only by the garbage collector, and its runs stop a
        # daemon with many games.
        players, teams = self._players, self._teams
        self._by_index = {player.index: player for player in players}
        self._others = {player.index: [other for other in players if other is not player] for player in players}
        self._opponents = {
            index: [other for other in others if not teams or teams[other.index] != teams[index]]
            for index, others in self._others.items()
        }

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take a final frame; returns its game events and, after every 60th frame, the stats.

        `end_offset` is the file offset just past the event that made the frame final.
        """
        if self._gate is None:
            return self._feed_counted(frame, end_offset)
        out: list[Event] = []
        for counted, offset in self._gate.feed(frame, end_offset):
            out += self._feed_counted(counted, max(offset, end_offset))
        return out

    def take(self, frame: Frame, end_offset: int) -> None:
        """Take a final frame without returning events and stats, whose making takes a fifth of the time of `feed`."""
        if self._gate is None:
            self._take(frame)
        else:
            for counted, _ in self._gate.feed(frame, end_offset):
                self._take(counted)
        self._pending.clear()

    def feed_all(self, frames: Iterable[Frame]) -> None:
        """Take many final frames without returning their events."""
        gate, take, pending = self._gate, self._take, self._pending
        for frame in frames:
            if gate is None:
                take(frame)
            else:
                for counted, _ in gate.feed(frame, frame.end_offset):
                    take(counted)
            pending.clear()

    def finish(self, end: GameEnd) -> list[Event]:
        """End the game; returns the events that waited for the end, and the last stats."""
        out: list[Event] = []
        if self._gate is not None:
            for counted, _ in self._gate.finish(end):
                out += self._feed_counted(counted, end.end_offset)
        self._over = True
        self._complete = end.game_end is not None
        for player in self._players:
            event = player.actions.finish()
            if event is not None:
                self._pending.append((_ACTIONS, player.index, *event))
        last = self._last_frame
        out += self._take_pending(last, end.end_offset)
        out.append(StatsUpdate(end.end_offset, last, self.stats()))
        return out

    def stats(self) -> Stats:
        """The stats as of the last frame. Later frames do not change the returned value."""
        last = self._last_frame
        shown = self._lists.copy()
        for player in self._players:
            if player.alive:
                player.stocks.snapshot_open(shown.stocks, player.percent)
            player.conversions.snapshot_open(shown.conversions, player.percent)
            player.combos.snapshot_open(shown.combos, player.percent)
        conversions = with_opening_types(shown.conversions, over=self._over or self._gate is not None)
        playable = 0 if last == self._first else playable_frames(last, self._starts_at)
        unsupported = self._unsupported
        counts = {p.index: slippi_js.NO_INPUTS if unsupported else p.inputs.counts() for p in self._players}
        opponents = {index: [other.index for other in others] for index, others in self._opponents.items()}
        return Stats(
            game_complete=self._complete,
            last_frame=last,
            playable_frame_count=playable,
            stocks=shown.stocks,
            conversions=conversions,
            combos=shown.combos,
            action_counts=[] if unsupported else [player.actions.summary() for player in self._players],
            overall=overall(
                opponents, conversions, counts, playable, {p.index: p.hits.outside_damage for p in self._players}
            ),
            extra=UNSET if self._gate is not None else self._extra(last),
        )

    def stadium(self) -> TargetTest | HomeRun | None:
        """slippi-js `getStadiumStats`: the result of a target test or a home-run contest, `None` for other games."""
        if self._targets is not None:
            return self._targets.results()
        if self.settings.game_mode == MAJOR_SCENE_HOME_RUN:
            language = self.settings.language
            for player in self._players:
                if player.post is not None and player.post.internal_character_id == SANDBAG:
                    return home_run(player.post.position_x, None if language is UNSET else language)
        return None

    @property
    def _last_frame(self) -> int:
        last = self._last if self._gate is None else self._gate.last_frame
        return FIRST_FRAME - 1 if last is None else last

    def _feed_counted(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take a frame that counts; returns its events and, after every 60th frame, the stats."""
        self._take(frame)
        if self._unsupported:
            return []
        number = frame.number
        out: list[Event] = self._take_pending(number, end_offset) if self._pending else []
        if (number - FIRST_FRAME + 1) % STATS_FRAMES == 0 and number >= self._stats_due:
            stats = self.stats()
            self._stats_due = number + STATS_FRAMES * max(1, entry_count(stats) // STATS_ENTRIES)
            out.append(StatsUpdate(end_offset, number, stats))
        return out

    def _take(self, frame: Frame) -> None:
        # The hot path: this runs for every frame of every game.
        number = frame.number
        self._last = number
        if self._first is None:
            self._begin(number)
        if self._unsupported and self._targets is None:
            return
        entry = self._selection.entry(frame) if self._targets is None else frame.entry
        if self._targets is not None:
            self._targets.update(number, () if entry.items is UNSET else entry.items, FIRST_FRAME + self._starts_at)
        if self._unsupported:
            return
        pending = self._pending
        if frame.revision:
            run = self._rollbacks.add(number, frame.revision)
            pending.append((_ROLLBACKS, -1, "rollback", {"sent": frame.revision + 1, "frames": run}))
        start = entry.start
        if start is not UNSET and start.scene_frame_counter is not UNSET:
            counter = start.scene_frame_counter
            if counter != self._pauses.expected:
                paused_frames = self._pauses.jump(counter)
                if paused_frames:
                    pending.append((_PAUSES, -1, "game_paused", {"frames": paused_frames}))
            self._pauses.expected = counter + 1

        present = entry.players
        players = self._players
        has_counter = self._has_counter
        takes_stocks = self._falls is None
        lost: list[Player] | None = None
        gone = False
        for player in players:
            seen = present.get(player.index)
            if seen is None or seen.post is UNSET:
                player.restarted = False
                gone = True
                continue
            prev = player.post
            player.post = post = seen.post
            player.pre = seen.pre
            if prev is None:
                self._first_seen(player, number)
                has_counter = self._has_counter
                continue
            player.prev = prev
            player.restarted = has_counter and post.action_state_counter < prev.action_state_counter
            if post.stocks_remaining != prev.stocks_remaining and takes_stocks:
                lost = [] if lost is None else lost
                lost.append(player)
            elif not player.alive and not FLAGS[post.action_state_id] & DYING:
                self._spawn(player, number)
        if gone:
            players = [p for p in players if p.index in present and present[p.index].post is not UNSET]
        if lost is not None:
            lost = [player for player in lost if self._change_stocks(player, number, lost)]
        if self._falls is not None:
            lost = [self._fall(fall, number) for fall in self._falls.take(present)]

        played = number - self._starts_at
        playable = played >= FIRST_PLAYABLE_FRAME
        edge = self._edge
        for player in reversed(players):  # the order of slippi-js, in which the opponent of the lower port comes first
            post, prev = player.post, player.prev
            state = post.action_state_id
            flags = FLAGS[state]
            if player.hit_by is not None:
                hitter = self._by_index[player.hit_by]
                if hitter.restarted or hitter.post.action_state_id != player.hit_state:
                    player.hit_by = None
            damage = post.percent - prev.percent
            if damage:
                values = {"playerIndex": player.index, "percent": post.percent, "change": damage}
                pending.append((_PERCENT, player.index, "percent_changed", values))
                if damage > 0 and not flags & HIT and self.counts_all_damage:
                    self._hit_without_stun(player, number, damage)
            dies = lost is not None and player in lost
            conversions, combos = player.conversions, player.combos
            if flags & HIT:
                self._hit(player, number, damage, flags)
                conversions.counter = combos.counter = 0
                if dies:
                    self._end(player, number, dies=True)
            elif conversions.open is not None or combos.open is not None or dies:
                if conversions.counter or flags & CONTROL:
                    conversions.counter += 1
                combos.counter = 0 if flags & HELD else combos.counter + 1
                if dies or conversions.counter > RESET_FRAMES or combos.counter > RESET_FRAMES:
                    self._end(player, number, dies=dies)

            if player.restarted or state != prev.action_state_id:
                self._begin_action(player, number)
            elif player.actions.due is not None and number >= player.actions.due:
                pending.append((_ACTIONS, player.index, *player.actions.fail()))

            if player.pre is not UNSET:
                player.inputs.update(played, player.pre)

            if playable:
                positions = player.positions
                if flags & (SHIELD | LEDGE):
                    positions.shield_or_ledge(flags)
                x = post.position_x
                if x > edge or x < -edge or post.position_y < BELOW or positions.off_stage or positions.recovering:
                    positions.update(post, flags, punished=conversions.open is not None)

        if playable and len(players) > 1:
            self._count_stage_control(players)
        if self._ended_conversions:
            self._close_conversions()

    def _begin(self, number: int) -> None:
        """Take the number of the first frame."""
        self._first = number
        if self._gate is None:
            self._starts_at = timer_start(number)

    def _take_pending(self, number: int, end_offset: int) -> list[Event]:
        pending = self._pending
        if len(pending) > 1:
            pending.sort(key=_order)
        events: list[Event] = [GameEvent(end_offset, kind, number, values) for _, _, kind, values in pending]
        pending.clear()
        return events

    def _first_seen(self, player: Player, number: int) -> None:
        """Take the first frame with this player."""
        post = player.prev = player.post
        self._has_counter = post.action_state_counter is not UNSET
        player.restarted = True
        if not FLAGS[post.action_state_id] & DYING:
            self._spawn(player, number)

    def _spawn(self, player: Player, number: int) -> None:
        post = player.post
        player.alive = True
        values = {"playerIndex": player.index}
        if self._falls is None:
            values["stocksRemaining"] = post.stocks_remaining
        player.stocks.spawn(number, post, values.get("stocksRemaining", UNSET))
        self._pending.append((_STOCKS, player.index, "player_spawned", values))

    def _change_stocks(self, player: Player, number: int, changed: list[Player]) -> bool:
        """Take a change of a player's stocks; returns whether a stock was lost, and not given to a team-mate."""
        post, prev = player.post, player.prev
        if post.stocks_remaining > prev.stocks_remaining:
            if not player.alive and not FLAGS[post.action_state_id] & DYING:
                self._spawn(player, number)
            return False
        if self._teams and not FLAGS[post.action_state_id] & DYING:
            team = self._teams[player.index]
            for other in changed:
                if self._teams[other.index] == team and other.post.stocks_remaining > other.prev.stocks_remaining:
                    return False
        if not player.alive:
            return True
        stock = player.stocks.lose(number, post, prev.percent)
        player.alive = False
        values = {"playerIndex": player.index, "stocksRemaining": post.stocks_remaining, "stock": stock}
        self._pending.append((_STOCKS, player.index, "stock_lost", values))
        if self._gate is None and not FLAGS[post.action_state_id] & DYING:  # slippi-js waits for the next frame
            self._spawn(player, number)
        return True

    def _fall(self, fall: Fall, number: int) -> Player:
        """End a life in a mode without stocks; returns the player."""
        player = self._by_index[fall.player_index]
        life = player.stocks.lose(number, player.post, player.prev.percent)
        player.alive = False
        values: dict[str, Any] = {"playerIndex": player.index, "selfDestruct": fall.by is None, "life": life}
        if fall.by is not None:
            values["byPlayerIndex"] = fall.by
        self._pending.append((_STOCKS, player.index, "fall", values | {"scores": self._scores()}))
        return player

    def _scores(self) -> list[PlayerScore]:
        return [] if self._falls is None else self._falls.scores()

    def _hit(self, player: Player, number: int, damage: float, flags: int) -> None:
        """Take a frame in which a player is damaged or grabbed."""
        index, conversions, combos = player.index, player.conversions, player.combos
        opponents = self._opponents[index]
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
            pass  # self-inflicted: the next hitter must not get it
        elif damage and hitter is None:
            others = self._others[index]
            move_ids = {other.index: other.post.last_attack_landed for other in others if other.post is not None}
            conversions.defer(number, damage, move_ids)
            combos.defer(number, damage, move_ids)
        elif damage and hitter is not None:
            self._credit(player, hitter, number, damage)
        now = max(percent, player.post.percent)  # the percent is 0 again when the stock is lost in this frame
        if starts:
            values = {"playerIndex": index, "conversion": conversions.value(now)}
            self._pending.append((_CONVERSIONS, index, "conversion_started", values))
        if combo_starts:
            self._pending.append((_COMBOS, index, "combo_started", {"playerIndex": index, "combo": combos.value(now)}))
        elif damage and combos.open is not None:
            self._pending.append((_COMBOS, index, "combo_extended", {"playerIndex": index, "combo": combos.value(now)}))

    def _hit_without_stun(self, player: Player, number: int, damage: float) -> None:
        """Credit damage to a player that is not in hitstun: the first hit of a throw, a laser, a phantom hit."""
        hitter = self._thrower(player) if player.post.action_state_id in THROWN else self._unseen_hitter(player, damage)
        if hitter is None:
            return
        self._credit(player, hitter, number, damage)
        if player.combos.open is not None:
            values = {"playerIndex": player.index, "combo": player.combos.value(player.post.percent)}
            self._pending.append((_COMBOS, player.index, "combo_extended", values))

    def _thrower(self, player: Player) -> Player | None:
        """The nearest player that is throwing. With two players, the other one, whose throw may have just ended."""
        others = [other for other in self._others[player.index] if other.post is not None]
        if self._pair:
            return others[0] if others else None
        throwing = [other for other in others if other.post.action_state_id in THROWING]
        return min(throwing, key=lambda other: _squared_distance(player, other), default=None)

    def _unseen_hitter(self, player: Player, damage: float) -> Player | None:
        """The hitter of a hit that caused neither hitstun nor a throw; `None` for damage that no player dealt."""
        post = player.post
        if is_magnifying_glass(damage):
            return None
        hitter = self._hitter(player)
        newly_hit = hitter is not None and post.last_hit_by != player.prev.last_hit_by
        if not newly_hit and post.internal_character_id in HURT_THEMSELVES and is_attack(post.action_state_id):
            return None
        opponents = self._opponents[player.index]
        if not self._uses_last_hit_by and opponents[0].post is not None:
            return opponents[0]
        return hitter

    def _credit(self, player: Player, hitter: Player, number: int, damage: float) -> None:
        """Credit damage to the move of a hitter."""
        self._any_hit = True
        index, conversions, combos = player.index, player.conversions, player.combos
        new_move = player.hit_by != hitter.index
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
        if conversions.open is None and player in self._opponents[hitter.index]:
            hitter.hits.outside_damage += damage
        hitter.forms.add_damage(credited)
        player.hit_by = hitter.index
        player.hit_state = hitter.prev.action_state_id

    def _hitter(self, player: Player) -> Player | None:
        """The player that `last_hit_by` refers to; `None` if there is no such player."""
        by = player.post.last_hit_by
        for other in self._others[player.index]:
            if other.index == by and other.post is not None:
                return other
        return None

    def _end(self, player: Player, number: int, *, dies: bool) -> None:
        """End the conversion and the combo on a player, those of them that are over."""
        before = player.prev.percent
        now = before if dies else player.post.percent
        index, conversions, combos = player.index, player.conversions, player.combos
        if conversions.open is not None and (dies or conversions.counter > RESET_FRAMES):
            self._ended_conversions.append(conversions.end(number, now, before, killed=dies))  # type: ignore[arg-type]
        elif dies:
            by = self._hitter(player) if self._uses_last_hit_by else None
            if by is not None:
                by.hits.add_kill(index)
            elif self.crew and not self._any_hit:
                player.given_up += 1
            else:
                player.self_destructs += 1
            self._note_last_stock(index, number)
        if combos.open is not None and (dies or combos.counter > RESET_FRAMES):
            combo = combos.end(number, now, before, killed=dies)
            self._pending.append((_COMBOS, index, "combo_ended", {"playerIndex": index, "combo": combo}))

    def _close_conversions(self) -> None:
        """Decide the opening type of the conversions that ended in this frame, and credit their kills."""
        for conversion in self._ended_conversions:
            conversion.opening_type = opening_type(conversion, self._lists.conversions, over=self._gate is not None)
            index = conversion.player_index
            values = {"playerIndex": index, "conversion": conversion}
            self._pending.append((_CONVERSIONS, index, "conversion_ended", values))
            if conversion.did_kill:
                self._credit_kill(conversion)
            self._note_highlight(highlight_of_conversion(conversion, self._lists.stocks, self._teams))
        self._ended_conversions.clear()

    def _note_highlight(self, found: Highlight | None) -> None:
        if found is not None:
            self._pending.append((_HIGHLIGHTS, found.player_index, highlight.KIND, msgspec.to_builtins(found)))

    def _note_last_stock(self, index: int, number: int) -> None:
        """Note the highlight that a stock is which a player has just lost outside a conversion."""
        if self._pair:
            stocks, opponent = self._lists.stocks, self._others[index][0].index
            lost = [stock for stock in stocks if stock.player_index == index and stock.end_frame == number]
            for stock in lost:
                self._note_highlight(highlight_of_stock(stock, opponent, stocks))

    def _credit_kill(self, conversion: Conversion) -> None:
        victim, by = conversion.player_index, conversion.last_hit_by
        for player in self._players:
            if player.index == by:
                player.hits.add_kill(victim)
                if all(other.index != victim for other in self._opponents[by]):
                    return
                player.hits.add_kill_move(conversion)
                player.forms.add_kill()
                if self._first_blood is None:
                    frame: Any = conversion.end_frame
                    self._first_blood = FirstBlood(frame, victim, player.index)

    def _begin_action(self, player: Player, number: int) -> None:
        """Take the first frame of an action."""
        post, actions = player.post, player.actions
        before = player.forms.change(number, post.internal_character_id)
        if before is not None:
            values = {
                "playerIndex": player.index,
                "fromInternalCharacterId": before,
                "internalCharacterId": post.internal_character_id,
            }
            self._pending.append((_FORMS, player.index, "transformed", values))
        others = [o.post for o in self._opponents[player.index] if o.post is not None and (self._pair or o.alive)]
        for kind, values in actions.begin(number, post, player.prev, others):
            self._pending.append((_ACTIONS, player.index, kind, values))

    def _count_stage_control(self, players: list[Player]) -> None:
        """Count the frame for the living player that is nearest to the middle of the stage."""
        if len(players) == PAIR:
            one, two = players
            dying = (FLAGS[one.post.action_state_id] | FLAGS[two.post.action_state_id]) & DYING
            if one.alive and two.alive and not dying:  # in a star KO, the stock is lost only after some time
                one.positions.contested_frames += 1
                two.positions.contested_frames += 1
                nearer = abs(two.post.position_x) - abs(one.post.position_x)
                if nearer > CONTROL_MARGIN:
                    one.positions.control_frames += 1
                elif nearer < -CONTROL_MARGIN:
                    two.positions.control_frames += 1
            return
        nearest = second = float("inf")
        holder = None
        living = [player for player in players if player.alive and not FLAGS[player.post.action_state_id] & DYING]
        for player in living:
            x = player.post.position_x
            if x < 0:
                x = -x
            if x < nearest:
                nearest, second, holder = x, nearest, player
            elif x < second:
                second = x
        if len(living) < PAIR:
            return
        for player in living:
            player.positions.contested_frames += 1
        if holder is not None and second - nearest > CONTROL_MARGIN:
            holder.positions.control_frames += 1

    def _extra(self, last: int) -> Extra:
        players = [self._player_extra(player, last) for player in self._players]
        for player, score in zip(players, self._scores(), strict=False):
            player.falls, player.kos, player.score = score.falls, score.kos, score.score
            player.self_destructs = score.self_destructs
        return Extra(
            timer=timer_text(self.settings, last - self._starts_at),
            players=players,
            first_blood=UNSET if self._first_blood is None else self._first_blood,
            rollbacks=self._rollbacks.totals() if self._rollbacks.frames else UNSET,
            pauses=self._pauses.count,
            paused_frames=self._pauses.frames,
        )

    def _player_extra(self, player: Player, last: int) -> PlayerExtra:
        positions = player.positions
        gauge = player.inputs.per_minute(last - self._starts_at)
        known = positions.edge is not None and (player.post is None or player.post.is_airborne is not UNSET)
        return PlayerExtra(
            player_index=player.index,
            kill_moves=list(player.hits.kill_moves),
            self_destructs=player.self_destructs,
            exchanges=player.hits.totals(),
            characters=[] if player.post is None else player.forms.totals(player.post.frame),
            shield_frames=positions.shield_frames,
            ledge_frames=positions.ledge_frames,
            off_stage_frames=positions.off_stage_frames if known else UNSET,
            recoveries=ratio(positions.recovered, positions.recoveries) if known else UNSET,
            stage_control=ratio(positions.control_frames, positions.contested_frames),
            live_inputs_per_minute=UNSET if gauge is None else gauge,
            stocks_given_up=player.given_up if self.crew else UNSET,
        )


def _squared_distance(one: Player, other: Player) -> float:
    x, y = one.post.position_x - other.post.position_x, one.post.position_y - other.post.position_y
    return float(x * x + y * y)


def _order(entry: PendingEvent) -> tuple[int, int]:
    return entry[:2]
