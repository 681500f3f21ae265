"""All stats of one Melee game, frame by frame.

You put in final frames, each number once and in order. In each frame, `SlippiStats` looks at the state, percent,
position and inputs of each player, but it only calls a computer when something begins, ends or hits. With `compat`, you
get the same numbers as from slippi-js 9.1.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Self

from msgspec import UNSET

from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME
from slpstream.formats.slippi.computer import Computer
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import playable_frames, timer_start, timer_text
from slpstream.formats.slippi.names import BELOW
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.formats.slippi.stats import compat as slippi_js
from slpstream.formats.slippi.stats import crediting, lives
from slpstream.formats.slippi.stats.game_state import PAIR, GameState, Player
from slpstream.formats.slippi.stats.overall import overall, ratio
from slpstream.formats.slippi.stats.packed_frames import PackedFrames
from slpstream.formats.slippi.stats.positions import CONTROL_MARGIN
from slpstream.formats.slippi.stats.punishes import RESET_FRAMES, with_opening_types
from slpstream.formats.slippi.stats.schema import Extra, InputCounts, PlayerExtra, Stats
from slpstream.formats.slippi.stats.stadium import (
    MAJOR_SCENE_HOME_RUN,
    MAJOR_SCENE_TARGET_TEST,
    SANDBAG,
    HomeRun,
    Targets,
    TargetTest,
    home_run,
)
from slpstream.formats.slippi.stats.states import CONTROL, DYING, FLAGS, HELD, HIT, LEDGE, SHIELD
from slpstream.model.events import Event, Frame, FrameFinalized, GameEnd, GameStart, StatsUpdate

STATS_FRAMES = 60
STATS_PHASE = (FIRST_FRAME - 1) % STATS_FRAMES
"""A `stats` message after every final frame n with n % 60 == 56, or less often in a very long game."""
STATS_ENTRIES = 500
"""A game with at least twice as many stocks, conversions, combos and moves has a `stats` message every
(entries // 500) * 60 frames.

Each message has the whole lists. At a fixed interval, the messages of a game would grow with the square of its length,
to 700 MB for 33 minutes with a conversion each second. The real games of the tests have at most 320 entries.
"""


class SlippiStats(Computer):
    """The stats of one game.

    Use `crew` for crew battles. We then find hitters by `last_hit_by`, in the same way as with more than two players,
    and stocks that are given up before the first hit are counted separately. Without `updates`, there are no `stats`
    before the end of the game.
    """

    def __init__(self, settings: Settings, *, compat: bool = False, crew: bool = False, updates: bool = True) -> None:
        self.settings = settings
        self.game = GameState(settings, compat=compat, crew=crew)
        self._gate = slippi_js.FrameGate(settings) if compat else None
        self._unsupported = compat and not self.game.is_pair
        self._frames = PackedFrames()
        self._targets = Targets() if settings.game_mode == MAJOR_SCENE_TARGET_TEST else None
        self._stats_due = FIRST_FRAME if updates else float("inf")
        self._end: GameEnd | None = None

    def copy(self) -> Self:
        """Return a copy that is independent from then on."""
        self._frames.add_up(self.game)
        return super().copy()

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take a final frame. Returns the game events in it and, after every 60th frame, the stats.

        `end_offset` is the offset in the file just after the event that made the frame final.
        """
        out: list[Event] = []
        frames = self._frames
        for counted in (frame,) if self._gate is None else self._gate.feed(frame, end_offset):
            content = counted.content
            is_watched = type(content) is PackedFrame and content.events is frames.watched
            if not (is_watched and frames.watch.take(content.data)):
                self._take(counted)
            if self.game.pending or counted.revision or counted.number % STATS_FRAMES == STATS_PHASE:
                out += self._events_of(counted, end_offset)
        return out

    def finish(self, end: GameEnd) -> list[Event]:
        """End the game. Returns the events that had to wait for the end, and the last stats."""
        out: list[Event] = []
        if self._gate is not None:
            for frame in self._gate.finish(end):
                self._take(frame)
                out += self._events_of(frame, end.end_offset)
        self._end = end
        for player in self.game.players:
            player.actions.fail(self.game.emit)
        stats = self.stats()
        out += self.game.take_events(stats.last_frame, end.end_offset)
        return [*out, StatsUpdate(end.end_offset, stats.last_frame, stats)]

    def stats(self) -> Stats:
        """Return the stats up to the last frame. They won't change if you add more frames later."""
        game, unsupported, is_over = self.game, self._unsupported, self._end is not None
        self._frames.add_up(game)
        for player in game.players:
            for entries in (player.stocks, player.conversions, player.combos):
                if entries.open is not None:
                    entries.change(current_percent=player.post.percent)
        last = game.number if self._gate is None else self._gate.last_frame
        playable = 0 if last == game.first_number else playable_frames(last, game.timer_start)
        conversions = with_opening_types(game.conversions, over=is_over or game.compat)
        counts = {p.index: InputCounts() if unsupported else p.inputs.counts() for p in game.players}
        return Stats(
            game_complete=self._end is not None and self._end.game_end is not None,
            last_frame=last,
            playable_frame_count=playable,
            stocks=game.stocks.copy(),
            conversions=conversions,
            combos=game.combos.copy(),
            action_counts=[] if unsupported else [player.actions.summary() for player in game.players],
            overall=overall(game, conversions, counts, playable),
            extra=UNSET if game.compat else self._extra(last),
        )

    def stadium(self) -> TargetTest | HomeRun | None:
        """Return the result of a target test or a home-run contest, as slippi-js's `getStadiumStats`.

        For any other game, this returns `None`.
        """
        self._frames.add_up(self.game)
        if self._targets is not None:
            return self._targets.results()
        if self.settings.game_mode == MAJOR_SCENE_HOME_RUN:
            for player in self.game.players:
                if player.post is not None and player.post.internal_character_id == SANDBAG:
                    return home_run(player.post.position_x, self.settings.language)
        return None

    def _events_of(self, frame: Frame, end_offset: int) -> list[Event]:
        """Return the events in a frame that was taken and, after every 60th frame, the stats."""
        if self._unsupported:
            return []
        number, game = frame.number, self.game
        if frame.revision:
            game.count_rollback(number, frame.revision)
        out: list[Event] = game.take_events(number, end_offset) if game.pending else []
        if number % STATS_FRAMES == STATS_PHASE and number >= self._stats_due:
            stats = self.stats()
            moves = [punish.moves for punish in chain(stats.conversions, stats.combos)]
            entries = len(stats.stocks) + len(moves) + sum(map(len, moves))
            self._stats_due = number + STATS_FRAMES * max(1, entries // STATS_ENTRIES)
            out.append(StatsUpdate(end_offset, number, stats))
        return out

    def _take(self, frame: Frame) -> None:
        """Take a frame that isn't quiet. This is the hot path, so computers are only called if they have to be."""
        game, frames, number = self.game, self._frames, frame.number
        frames.end(game)
        game.number = number
        if game.first_number is None:
            game.first_number = number
            game.timer_start = 0 if game.compat else timer_start(number)
        if self._targets is not None:
            items = frame.entry.items
            self._targets.update(number, () if items is UNSET else items, FIRST_FRAME + game.timer_start)
        if self._unsupported:
            return
        scene_counter, pres, posts = frames.read(frame, game)
        if scene_counter is not UNSET:
            game.take_scene_counter(scene_counter)
        players: list[Player] = []
        changed: list[Player] = []
        for player in game.players:
            post = posts.get(player.index)
            if post is None:
                player.restarted = False
                continue
            players.append(player)
            before, player.post = player.post, post
            player.prev = prev = post if before is None else before
            counter = post.action_state_counter
            player.restarted = before is None or (counter is not UNSET and counter < prev.action_state_counter)
            if post.stocks_remaining != prev.stocks_remaining and game.falls is None:
                changed.append(player)
            elif player.stocks.open is None:
                lives.spawn(game, player)
        lost = lives.end_lives(game, players, changed) if changed or game.falls is not None else changed

        played = number - game.timer_start
        playable = played >= FIRST_PLAYABLE_FRAME
        edge = game.edge
        living: list[Player] = []
        for player in reversed(players):  # the order of slippi-js, in which the opponent of the lower port comes first
            post, prev = player.post, player.prev
            state = post.action_state_id
            flags = FLAGS[state]
            if player.last_hit is not None:
                hitter_index, hit_state = player.last_hit
                hitter = game.by_index[hitter_index]
                if hitter.restarted or hitter.post.action_state_id != hit_state:
                    player.last_hit = None
            damage = post.percent - prev.percent
            if damage:
                game.emit("percent_changed", playerIndex=player.index, percent=post.percent, change=damage)
                if damage > 0 and not flags & HIT and game.counts_all_damage:
                    crediting.hit_without_stun(game, player, damage)
            dies = is_over = player in lost
            conversions, combos = player.conversions, player.combos
            if flags & HIT:
                crediting.hit(game, player, damage, flags)
                conversions.counter = combos.counter = 0
            else:
                if conversions.open is not None and (conversions.counter or flags & CONTROL):
                    conversions.counter += 1
                if combos.open is not None:
                    combos.counter = 0 if flags & HELD else combos.counter + 1
                is_over = dies or conversions.counter > RESET_FRAMES or combos.counter > RESET_FRAMES
            if is_over:
                crediting.end(game, player, dies=dies)

            if player.restarted or state != prev.action_state_id:
                _begin_action(game, player)
            elif player.actions.due is not None and number >= player.actions.due:
                player.actions.fail(game.emit)
            pre = pres.get(player.index)
            if pre is not None:
                player.inputs.update(played, pre)
            if playable:
                if player.stocks.open is not None and not flags & DYING:  # in a star KO, the stock is lost later
                    living.append(player)
                positions, x = player.positions, post.position_x
                outside = x > edge or x < -edge or post.position_y < BELOW
                if outside or positions.is_off_stage or positions.is_recovering or flags & (SHIELD | LEDGE):
                    positions.update(post, flags, outside=outside, punished=conversions.open is not None)

        if len(living) >= PAIR:
            _count_stage_control(living)
        if game.ended:
            crediting.close_conversions(game)
        if playable and self._targets is None:
            frames.begin(game, players)

    def _extra(self, last: int) -> Extra:
        game = self.game
        players = [self._player_extra(player, last) for player in game.players]
        for player, score in zip(players, [] if game.falls is None else game.falls.scores(), strict=False):
            player.falls, player.kos, player.score = score.falls, score.kos, score.score
            player.self_destructs = score.self_destructs
        return Extra(
            timer=timer_text(self.settings, last - game.timer_start),
            players=players,
            first_blood=UNSET if game.first_blood is None else game.first_blood,
            rollbacks=game.rollbacks if game.rollbacks.frames else UNSET,
            pauses=game.pauses,
            paused_frames=game.paused_frames,
        )

    def _player_extra(self, player: Player, last: int) -> PlayerExtra:
        positions, post = player.positions, player.post
        gauge = player.inputs.per_minute(last - self.game.timer_start)
        known = self.game.edge < float("inf") and (post is None or post.is_airborne is not UNSET)
        return PlayerExtra(
            player_index=player.index,
            kill_moves=list(player.hits.kill_moves),
            self_destructs=player.self_destructs,
            exchanges=player.hits.totals(),
            characters=[] if post is None else player.hits.character_totals(post.frame),
            shield_frames=positions.shield_frames,
            ledge_frames=positions.ledge_frames,
            off_stage_frames=positions.off_stage_frames if known else UNSET,
            recoveries=ratio(positions.recovered, positions.recoveries) if known else UNSET,
            stage_control=ratio(positions.control_frames, positions.contested_frames),
            live_inputs_per_minute=UNSET if gauge is None else gauge,
            stocks_given_up=player.given_up if self.game.crew else UNSET,
        )


def _begin_action(game: GameState, player: Player) -> None:
    """Take the first frame of an action."""
    post = player.post
    before = player.hits.transform(game.number, post.internal_character_id)
    if before is not None:
        values = {"fromInternalCharacterId": before, "internalCharacterId": post.internal_character_id}
        game.emit("transformed", playerIndex=player.index, **values)
    others = (
        o.post
        for o in game.opponents[player.index]
        if o.post is not None and (game.is_pair or o.stocks.open is not None)
    )
    player.actions.begin(game.number, post, player.prev, others, game.emit)


def _count_stage_control(living: list[Player]) -> None:
    """Count a frame for the living player that is nearest to the middle of the stage."""
    nearest = living[0].positions
    least = second = float("inf")
    for player in reversed(living):
        positions, x = player.positions, abs(player.post.position_x)
        positions.contested_frames += 1
        if not x >= least:  # also true of NaN, next to which no player is nearer
            least, second, nearest = x, least, positions
        elif x < second:
            second = x
    if second - least > CONTROL_MARGIN:
        nearest.control_frames += 1


def whole_stats(batches: Iterable[Iterable[Event]], *, compat: bool = False, crew: bool = False) -> SlippiStats | None:
    """Compute the stats of a game from everything that its reader returns, in order.

    Returns `None` if the game has no Game Start.
    """
    stats: SlippiStats | None = None
    for event in chain.from_iterable(batches):
        if type(event) is Frame:  # counts when it is final
            continue
        if isinstance(event, GameStart):
            stats = stats or SlippiStats(event.settings, compat=compat, crew=crew, updates=False)
        elif stats is not None and isinstance(event, FrameFinalized):
            for frame in event.frames:
                stats.feed(frame, event.end_offset)
        elif stats is not None and isinstance(event, GameEnd):
            stats.finish(event)
    return stats
