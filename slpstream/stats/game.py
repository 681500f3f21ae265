"""All stats of one Melee game, frame by frame: the computers put together.

Fed are final frames, each number once, in order. A frame costs a look at each player's state, percent, place and
inputs; the computers are called only when something begins, ends or hits. What they say in a frame is collected and
sent in the order of the computers, then of the player indexes. With `compat` the numbers are those that slippi-js
9.1.2 prints; see `compat`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any, Self

from msgspec import UNSET

from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.names import stage_edge
from slpstream.model.events import Event, Frame, GameEnd, GameEvent, StatsUpdate
from slpstream.stats import compat as slippi_js
from slpstream.stats.conversions import judged, opening_type
from slpstream.stats.extra import Extra, FirstBlood, PlayerExtra
from slpstream.stats.home_run import MAJOR_SCENE_HOME_RUN, SANDBAG, HomeRun, home_run
from slpstream.stats.overall import overall, playable_frame_count, ratio
from slpstream.stats.pauses import Pauses, Resent
from slpstream.stats.player import Lists, Player
from slpstream.stats.positions import BELOW, CONTROL_MARGIN
from slpstream.stats.punishes import RESET_FRAMES
from slpstream.stats.schema import Conversion, Stats
from slpstream.stats.states import CAPTURED, CONTROL, DYING, FLAGS, HELD, HIT, LEDGE, SHIELD
from slpstream.stats.targets import MAJOR_SCENE_TARGET_TEST, Targets, TargetTest
from slpstream.stats.timer import timer_text

STATS_FRAMES = 60
"""A `stats` message after every final frame n with (n + 124) % 60 == 0."""
PAIR = 2
"""Players of whom each is the other's only opponent."""

_ROLLBACKS, _PAUSES, _FORMS, _STOCKS, _PERCENT, _CONVERSIONS, _COMBOS, _ACTIONS = range(8)
"""The order of the computers, which is that of their events within a frame."""

Entry = tuple[int, int, str, dict[str, Any]]
"""What is to be said: rank of the computer, player index, kind, payload."""


class SlippiStats:
    """The stats of one game. `crew`: a crew battle; who hit whom is told by `last_hit_by`, as with more than two
    players, and stocks that are given up before the first hit are counted apart."""

    def __init__(self, settings: Settings, *, compat: bool = False, crew: bool = False) -> None:
        self.settings = settings
        self.crew = crew
        self._gate = slippi_js.Gate(settings) if compat else None
        indexes = [player.player_index for player in settings.players]
        self._pair = len(indexes) == PAIR
        self._named = crew or not self._pair
        self._ignored = compat and not self._pair
        self._lists = Lists([], [], [])
        edge = stage_edge(settings.stage_id)
        self._edge = float("inf") if edge is None else edge
        self._players = [Player(index, self._lists, edge) for index in indexes]
        self._teams = (
            {p.player_index: p.team_id for p in settings.players} if settings.is_teams and not self._pair else {}
        )
        self._introduce()
        self._pauses = Pauses()
        self._resent = Resent()
        self._targets = Targets() if settings.game_mode == MAJOR_SCENE_TARGET_TEST else None
        self._first_blood: FirstBlood | None = None
        self._last: int | None = None
        self._any_hit = False
        self._complete = False
        self._over = False
        self._has_counter = False
        self._news: list[Entry] = []
        self._ended: list[Conversion] = []

    def copy(self) -> Self:
        """Independent stats at the same place. What is closed is shared, so it costs little."""
        twin = copy.copy(self)
        twin._gate = None if self._gate is None else self._gate.copy()
        twin._lists = self._lists.copy()
        twin._players = [player.copy(twin._lists) for player in self._players]
        twin._introduce()
        twin._pauses = self._pauses.copy()
        twin._resent = self._resent.copy()
        twin._targets = None if self._targets is None else self._targets.copy()
        twin._news = []
        twin._ended = []
        return twin

    def _introduce(self) -> None:
        """By player index: the player, all others, and those of other teams. Kept here, because players that hold each
        other are freed only by a search for garbage, and that stops a daemon with many games."""
        players, teams = self._players, self._teams
        self._by_index = {player.index: player for player in players}
        self._others = {player.index: [other for other in players if other is not player] for player in players}
        self._opponents = {
            index: [other for other in others if not teams or teams[other.index] != teams[index]]
            for index, others in self._others.items()
        }

    # -- what the outside calls ---------------------------------------------------------------------------------------

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """One final frame; `end_offset` is that of what made it final. Returns what it causes: events, and after every
        60th frame the stats."""
        if self._gate is None:
            return self._heard(frame, end_offset)
        out: list[Event] = []
        for counted, offset in self._gate.feed(frame, end_offset):
            out += self._heard(counted, max(offset, end_offset))
        return out

    def feed_all(self, frames: Iterable[Frame]) -> None:
        """Many final frames, when nobody asks what they cause."""
        gate, take, news = self._gate, self._take, self._news
        for frame in frames:
            if gate is None:
                take(frame)
            else:
                for counted, _ in gate.feed(frame, frame.end_offset):
                    take(counted)
            news.clear()

    def finish(self, end: GameEnd) -> list[Event]:
        """No more frames will come. Returns what waited for that, and the last stats."""
        out: list[Event] = []
        if self._gate is not None:
            for counted, _ in self._gate.finish(end):
                out += self._heard(counted, end.end_offset)
        self._over = True
        self._complete = end.game_end is not None
        for player in self._players:
            said = player.actions.finish()
            if said is not None:
                self._news.append((_ACTIONS, player.index, *said))
        last = self._last_frame
        out += self._said(last, end.end_offset)
        out.append(StatsUpdate(end.end_offset, last, self.stats()))
        return out

    def stats(self) -> Stats:
        """The stats as of the last frame, as a value of its own."""
        last = self._last_frame
        shown = self._lists.copy()
        for player in self._players:
            if player.alive:
                player.stocks.show(shown.stocks, player.percent)
            player.conversions.show(shown.conversions, player.percent)
            player.combos.show(shown.combos, player.percent)
        conversions = judged(shown.conversions, over=self._over or self._gate is not None)
        playable = playable_frame_count(last)
        ignored = self._ignored
        counts = {p.index: slippi_js.NO_INPUTS if ignored else p.inputs.counts() for p in self._players}
        opponents = {index: [other.index for other in others] for index, others in self._opponents.items()}
        return Stats(
            game_complete=self._complete,
            last_frame=last,
            playable_frame_count=playable,
            stocks=shown.stocks,
            conversions=conversions,
            combos=shown.combos,
            action_counts=[] if ignored else [player.actions.show() for player in self._players],
            overall=overall(opponents, conversions, counts, playable),
            extra=UNSET if self._gate is not None else self._extra(last),
        )

    def stadium(self) -> TargetTest | HomeRun | None:
        """slippi-js `getStadiumStats`: of a target test or a home-run contest, `None` for other games."""
        if self._targets is not None:
            return self._targets.show()
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

    # -- a frame ------------------------------------------------------------------------------------------------------

    def _heard(self, frame: Frame, end_offset: int) -> list[Event]:
        """A frame is taken; what is to be said of it."""
        self._take(frame)
        if self._ignored:
            return []
        number = frame.number
        out: list[Event] = self._said(number, end_offset) if self._news else []
        if (number - FIRST_FRAME + 1) % STATS_FRAMES == 0:
            out.append(StatsUpdate(end_offset, number, self.stats()))
        return out

    def _take(self, frame: Frame) -> None:
        """The hot path: it runs for every frame of every game."""
        number = frame.number
        entry = frame.entry
        self._last = number
        if self._targets is not None:
            self._targets.update(number, () if entry.items is UNSET else entry.items)
        if self._ignored:
            return
        news = self._news
        if frame.revision:
            run = self._resent.add(number, frame.revision)
            news.append((_ROLLBACKS, -1, "rollback", {"sent": frame.revision + 1, "frames": run}))
        start = entry.start
        if start is not UNSET and start.scene_frame_counter is not UNSET:
            counter = start.scene_frame_counter
            if counter != self._pauses.expected:
                stood = self._pauses.jump(counter)
                if stood:
                    news.append((_PAUSES, -1, "game_paused", {"frames": stood}))
            self._pauses.expected = counter + 1

        present = entry.players
        players = self._players
        has_counter = self._has_counter
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
                self._appear(player, number)
                has_counter = self._has_counter
                continue
            player.prev = prev
            player.restarted = has_counter and post.action_state_counter < prev.action_state_counter
            if post.stocks_remaining != prev.stocks_remaining:
                lost = [] if lost is None else lost
                lost.append(player)
            elif not player.alive and not FLAGS[post.action_state_id] & DYING:
                self._spawn(player, number)
        if gone:
            players = [p for p in players if p.index in present and present[p.index].post is not UNSET]
        if lost is not None:
            lost = [player for player in lost if self._loses(player, number, lost)]

        playable = number >= FIRST_PLAYABLE_FRAME
        edge = self._edge
        for player in reversed(players):  # the lower port's opponent first: the order of slippi-js
            post, prev = player.post, player.prev
            state = post.action_state_id
            flags = FLAGS[state]
            damage = post.percent - prev.percent
            if damage:
                values = {"playerIndex": player.index, "percent": post.percent, "change": damage}
                news.append((_PERCENT, player.index, "percent_changed", values))

            if player.hit_by is not None:
                hitter = self._by_index[player.hit_by]
                if hitter.restarted or hitter.post.action_state_id != player.hit_state:
                    player.hit_by = None
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
                self._act(player, number)
            elif player.actions.due is not None and number >= player.actions.due:
                news.append((_ACTIONS, player.index, *player.actions.fail()))

            if player.pre is not UNSET:
                player.inputs.update(number, player.pre)

            if playable:
                places = player.places
                if flags & (SHIELD | LEDGE):
                    places.shield_or_ledge(flags)
                x = post.position_x
                if x > edge or x < -edge or post.position_y < BELOW or places.off_stage or places.recovering:
                    places.stand(post, flags, punished=conversions.open is not None)

        if playable and len(players) > 1:
            self._hold_middle(players)
        if self._ended:
            self._judge()

    def _said(self, number: int, end_offset: int) -> list[Event]:
        news = self._news
        if len(news) > 1:
            news.sort(key=_order)
        said: list[Event] = [GameEvent(end_offset, kind, number, values) for _, _, kind, values in news]
        news.clear()
        return said

    # -- what begins and ends -----------------------------------------------------------------------------------------

    def _appear(self, player: Player, number: int) -> None:
        """The first frame that has a player."""
        post = player.prev = player.post
        self._has_counter = post.action_state_counter is not UNSET
        player.restarted = True
        if not FLAGS[post.action_state_id] & DYING:
            self._spawn(player, number)

    def _spawn(self, player: Player, number: int) -> None:
        post = player.post
        player.alive = True
        player.stocks.spawn(number, post)
        values = {"playerIndex": player.index, "stocksRemaining": post.stocks_remaining}
        self._news.append((_STOCKS, player.index, "player_spawned", values))

    def _loses(self, player: Player, number: int, changed: list[Player]) -> bool:
        """The stocks of a player changed: whether the player lost one. A stock that a team-mate takes is not lost."""
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
        self._news.append((_STOCKS, player.index, "stock_lost", values))
        if not FLAGS[post.action_state_id] & DYING:
            self._spawn(player, number)
        return True

    def _hit(self, player: Player, number: int, damage: float, flags: int) -> None:
        """A player is damaged or grabbed in this frame."""
        index, conversions, combos = player.index, player.conversions, player.combos
        opponents = self._opponents[index]
        hitter = self._hitter(player) if self._named or opponents[0].post is None else opponents[0]
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
            pass  # his own: nobody's who hits next
        elif damage and hitter is None:
            others = self._others[index]
            move_ids = {other.index: other.post.last_attack_landed for other in others if other.post is not None}
            conversions.wait(number, damage, move_ids)
            combos.wait(number, damage, move_ids)
        elif damage and hitter is not None:
            self._any_hit = True
            new_move = player.hit_by != hitter.index
            credited = damage
            if new_move:
                move_id = hitter.post.last_attack_landed
                credited += conversions.add(number, hitter.index, move_id, damage)
                combos.add(number, hitter.index, move_id, damage)
            else:
                conversions.repeat(damage)
                combos.repeat(damage)
            hitter.exchanges.hit(index, credited, new_move=new_move)
            hitter.forms.hit(credited)
            player.hit_by = hitter.index
            player.hit_state = hitter.prev.action_state_id
        now = max(percent, player.post.percent)  # who has just lost the stock has none any more
        if starts:
            values = {"playerIndex": index, "conversion": conversions.value(now)}
            self._news.append((_CONVERSIONS, index, "conversion_started", values))
        if combo_starts:
            self._news.append((_COMBOS, index, "combo_started", {"playerIndex": index, "combo": combos.value(now)}))
        elif damage and combos.open is not None:
            self._news.append((_COMBOS, index, "combo_extended", {"playerIndex": index, "combo": combos.value(now)}))

    def _hitter(self, player: Player) -> Player | None:
        """Who hit, by name."""
        by = player.post.last_hit_by
        for other in self._others[player.index]:
            if other.index == by and other.post is not None:
                return other
        return None

    def _end(self, player: Player, number: int, *, dies: bool) -> None:
        """A conversion or a combo on a player is over."""
        before = player.prev.percent
        now = before if dies else player.post.percent
        index, conversions, combos = player.index, player.conversions, player.combos
        if conversions.open is not None and (dies or conversions.counter > RESET_FRAMES):
            self._ended.append(conversions.end(number, now, before, killed=dies))  # type: ignore[arg-type]
        elif dies:
            by = self._hitter(player) if self._named else None
            if by is not None:
                by.exchanges.knock_out(index)
            elif self.crew and not self._any_hit:
                player.given_up += 1
            else:
                player.self_destructs += 1
        if combos.open is not None and (dies or combos.counter > RESET_FRAMES):
            combo = combos.end(number, now, before, killed=dies)
            self._news.append((_COMBOS, index, "combo_ended", {"playerIndex": index, "combo": combo}))

    def _judge(self) -> None:
        """Conversions that ended in this frame get their opening type and their killer."""
        for conversion in self._ended:
            conversion.opening_type = opening_type(conversion, self._lists.conversions, over=self._gate is not None)
            index = conversion.player_index
            values = {"playerIndex": index, "conversion": conversion}
            self._news.append((_CONVERSIONS, index, "conversion_ended", values))
            if conversion.did_kill:
                self._kill(conversion)
        self._ended.clear()

    def _kill(self, conversion: Conversion) -> None:
        victim, by = conversion.player_index, conversion.last_hit_by
        for player in self._players:
            if player.index == by:
                player.exchanges.knock_out(victim)
                if all(other.index != victim for other in self._opponents[by]):
                    return
                player.exchanges.kill(conversion)
                player.forms.kill()
                if self._first_blood is None:
                    frame: Any = conversion.end_frame
                    self._first_blood = FirstBlood(frame, victim, player.index)

    def _act(self, player: Player, number: int) -> None:
        """A new action begins."""
        post, actions = player.post, player.actions
        before = player.forms.become(number, post.internal_character_id)
        if before is not None:
            values = {
                "playerIndex": player.index,
                "fromInternalCharacterId": before,
                "internalCharacterId": post.internal_character_id,
            }
            self._news.append((_FORMS, player.index, "transformed", values))
        others = [o.post for o in self._opponents[player.index] if o.post is not None and (self._pair or o.alive)]
        for kind, values in actions.begin(number, post, player.prev, others):
            self._news.append((_ACTIONS, player.index, kind, values))

    def _hold_middle(self, players: list[Player]) -> None:
        """Who is nearest to the middle of the stage, of those who are alive."""
        if len(players) == PAIR:
            one, two = players
            if one.alive and two.alive:
                one.places.contested_frames += 1
                two.places.contested_frames += 1
                nearer = abs(two.post.position_x) - abs(one.post.position_x)
                if nearer > CONTROL_MARGIN:
                    one.places.control_frames += 1
                elif nearer < -CONTROL_MARGIN:
                    two.places.control_frames += 1
            return
        nearest = second = float("inf")
        holder = None
        alive = 0
        for player in players:
            if player.alive:
                alive += 1
                x = player.post.position_x
                if x < 0:
                    x = -x
                if x < nearest:
                    nearest, second, holder = x, nearest, player
                elif x < second:
                    second = x
        if alive < PAIR:
            return
        for player in players:
            if player.alive:
                player.places.contested_frames += 1
        if holder is not None and second - nearest > CONTROL_MARGIN:
            holder.places.control_frames += 1

    # -- beyond slippi-js ---------------------------------------------------------------------------------------------

    def _extra(self, last: int) -> Extra:
        return Extra(
            timer=timer_text(self.settings, last),
            players=[self._player_extra(player, last) for player in self._players],
            first_blood=UNSET if self._first_blood is None else self._first_blood,
            rollbacks=self._resent.show() if self._resent.frames else UNSET,
            pauses=self._pauses.count,
            paused_frames=self._pauses.frames,
        )

    def _player_extra(self, player: Player, last: int) -> PlayerExtra:
        places = player.places
        gauge = player.inputs.per_minute(last)
        known = places.edge is not None
        return PlayerExtra(
            player_index=player.index,
            kill_moves=list(player.exchanges.kill_moves),
            self_destructs=player.self_destructs,
            exchanges=player.exchanges.show(),
            characters=[] if player.post is None else player.forms.show(player.post.frame),
            shield_frames=places.shield_frames,
            ledge_frames=places.ledge_frames,
            off_stage_frames=places.off_stage_frames if known else UNSET,
            recoveries=ratio(places.recovered, places.recoveries) if known else UNSET,
            stage_control=ratio(places.control_frames, places.contested_frames),
            live_inputs_per_minute=UNSET if gauge is None else gauge,
            stocks_given_up=player.given_up if self.crew else UNSET,
        )


def _order(entry: Entry) -> tuple[int, int]:
    return entry[:2]
