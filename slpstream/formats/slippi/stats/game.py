"""All stats of one Melee game, frame by frame.

You put in final frames, each number once and in order. In each frame, `SlippiStats` looks at the state, percent,
position and inputs of each player, but it only calls a computer when something begins, ends or hits. Events of a frame
are emitted in the order of the computers, and then of the player indices. With `compat`, you get the same numbers as
from slippi-js 9.1.2.
"""

from __future__ import annotations

import copy
from typing import Self

from msgspec import UNSET

from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import playable_frames, timer_start
from slpstream.formats.slippi.names import BELOW
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.formats.slippi.stats import compat as slippi_js
from slpstream.formats.slippi.stats.conversions import with_opening_types
from slpstream.formats.slippi.stats.crediting import Crediting
from slpstream.formats.slippi.stats.extra import Extra, PlayerExtra
from slpstream.formats.slippi.stats.frame_events import (
    ACTIONS,
    FORMS,
    PAUSES,
    PERCENT,
    ROLLBACKS,
    PendingEvent,
    take_events,
)
from slpstream.formats.slippi.stats.home_run import MAJOR_SCENE_HOME_RUN, SANDBAG, HomeRun, home_run
from slpstream.formats.slippi.stats.lives import Lives
from slpstream.formats.slippi.stats.overall import overall, ratio
from slpstream.formats.slippi.stats.pauses import Pauses, RollbackCounter
from slpstream.formats.slippi.stats.player import Player
from slpstream.formats.slippi.stats.punishes import RESET_FRAMES
from slpstream.formats.slippi.stats.quiet import QuietFrames
from slpstream.formats.slippi.stats.roster import Roster
from slpstream.formats.slippi.stats.schema import Stats, entry_count
from slpstream.formats.slippi.stats.selected import Selection
from slpstream.formats.slippi.stats.stage_control import count_stage_control
from slpstream.formats.slippi.stats.states import (
    CONTROL,
    DYING,
    FLAGS,
    HELD,
    HIT,
    LEDGE,
    SHIELD,
)
from slpstream.formats.slippi.stats.targets import MAJOR_SCENE_TARGET_TEST, Targets, TargetTest
from slpstream.formats.slippi.stats.timer import timer_text
from slpstream.model.events import Event, Frame, GameEnd, StatsUpdate

STATS_FRAMES = 60
"""A `stats` message after every final frame n with (n + 124) % 60 == 0, or less often in a very long game."""
STATS_ENTRIES = 500
"""A game with at least twice as many entries in its lists has a `stats` message every (entries // 500) * 60 frames.

Each message has the whole lists. At a fixed interval, the messages of a game would grow with the square of its length,
to 700 MB for 33 minutes with a conversion each second. The real games of the tests have at most 320 entries.
"""


class _FrameNumbers:
    """The frame numbers of one game."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last: int | None = None
        self.timer_start = 0
        """The frame in which the timer starts; for slippi-js always 0."""


class SlippiStats:
    """The stats of one game.

    Use `crew` for crew battles. We then find hitters by `last_hit_by`, in the same way as with more than two players,
    and stocks that are given up before the first hit are counted separately.
    """

    def __init__(self, settings: Settings, *, compat: bool = False, crew: bool = False) -> None:
        self.settings = settings
        self._gate = slippi_js.FrameGate(settings) if compat else None
        self._roster = Roster(settings)
        self._unsupported = compat and not self._roster.is_pair
        self._pending: list[PendingEvent] = []
        self.crediting = Crediting(self._roster, self._pending, compat=compat, crew=crew)
        self._lives = Lives(settings, self._roster, self._pending, compat=compat)
        self._selection = Selection()
        self._quiet = QuietFrames()
        self._pauses = Pauses()
        self._rollbacks = RollbackCounter()
        self._targets = Targets() if settings.game_mode == MAJOR_SCENE_TARGET_TEST else None
        self._frames = _FrameNumbers()
        self._stats_due = FIRST_FRAME
        self._end: GameEnd | None = None

    def copy(self) -> Self:
        """Return a copy that is independent from then on.

        This is cheap, because both share the entries that are closed.
        """
        self._add_quiet_frames()
        twin = copy.copy(self)
        twin._quiet = QuietFrames()
        twin._gate = None if self._gate is None else self._gate.copy()
        twin._roster = self._roster.copy()
        twin._pending = []
        twin.crediting = self.crediting.copy(twin._roster, twin._pending)
        twin._lives = self._lives.copy(twin._roster, twin._pending)
        twin._selection = self._selection.copy()
        twin._pauses = self._pauses.copy()
        twin._rollbacks = self._rollbacks.copy()
        twin._targets = None if self._targets is None else self._targets.copy()
        twin._frames = copy.copy(self._frames)
        return twin

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take a final frame. Returns the game events in it and, after every 60th frame, the stats.

        `end_offset` is the offset in the file just after the event that made the frame final.
        """
        if self._gate is None:
            quiet, content = self._quiet, frame.content
            if quiet.begun and not frame.revision and (frame.number - FIRST_FRAME + 1) % STATS_FRAMES:
                # Most frames end here, so this is `quiet.take` without the call.
                if type(content) is PackedFrame and content.events is quiet.events and quiet.watch.take(content.data):
                    return []
                self._add_quiet_frames()
            return self._feed_counted(frame, end_offset)
        out: list[Event] = []
        for counted, offset in self._gate.feed(frame, end_offset):
            out += self._feed_counted(counted, max(offset, end_offset))
        return out

    def take(self, frame: Frame, end_offset: int) -> None:
        """Take a final frame, but don't return any events and stats.

        This takes less time than `feed`.
        """
        if self._gate is None:
            self._take(frame)
        else:
            for counted, _ in self._gate.feed(frame, end_offset):
                self._take(counted)
        self._pending.clear()

    def finish(self, end: GameEnd) -> list[Event]:
        """End the game. Returns the events that had to wait for the end, and the last stats."""
        self._add_quiet_frames()
        out: list[Event] = []
        if self._gate is not None:
            for counted, _ in self._gate.finish(end):
                out += self._feed_counted(counted, end.end_offset)
        self._end = end
        for player in self._roster.players:
            event = player.actions.finish()
            if event is not None:
                self._pending.append((ACTIONS, player.index, *event))
        last = self._last_frame
        out += take_events(self._pending, last, end.end_offset)
        out.append(StatsUpdate(end.end_offset, last, self.stats()))
        return out

    def stats(self) -> Stats:
        """Return the stats up to the last frame. They won't change if you add more frames later."""
        self._add_quiet_frames()
        last = self._last_frame
        shown = self._roster.lists.copy()
        for player in self._roster.players:
            if player.alive:
                player.stocks.snapshot_open(shown.stocks, player.percent)
            player.conversions.snapshot_open(shown.conversions, player.percent)
            player.combos.snapshot_open(shown.combos, player.percent)
        conversions = with_opening_types(shown.conversions, over=self._end is not None or self._gate is not None)
        playable = 0 if last == self._frames.first else playable_frames(last, self._frames.timer_start)
        unsupported = self._unsupported
        counts = {p.index: slippi_js.NO_INPUTS if unsupported else p.inputs.counts() for p in self._roster.players}
        opponents = {index: [other.index for other in others] for index, others in self._roster.opponents.items()}
        return Stats(
            game_complete=self._end is not None and self._end.game_end is not None,
            last_frame=last,
            playable_frame_count=playable,
            stocks=shown.stocks,
            conversions=conversions,
            combos=shown.combos,
            action_counts=[] if unsupported else [player.actions.summary() for player in self._roster.players],
            overall=overall(
                opponents, conversions, counts, playable, {p.index: p.hits.outside_damage for p in self._roster.players}
            ),
            extra=UNSET if self._gate is not None else self._extra(last),
        )

    def stadium(self) -> TargetTest | HomeRun | None:
        """Return the result of a target test or a home-run contest, as slippi-js's `getStadiumStats`.

        For any other game, this returns `None`.
        """
        self._add_quiet_frames()
        if self._targets is not None:
            return self._targets.results()
        if self.settings.game_mode == MAJOR_SCENE_HOME_RUN:
            language = self.settings.language
            for player in self._roster.players:
                if player.post is not None and player.post.internal_character_id == SANDBAG:
                    return home_run(player.post.position_x, None if language is UNSET else language)
        return None

    @property
    def _last_frame(self) -> int:
        last = self._frames.last if self._gate is None else self._gate.last_frame
        return FIRST_FRAME - 1 if last is None else last

    def _feed_counted(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take a frame that counts. Returns the events in it and, after every 60th frame, the stats."""
        self._take(frame)
        if self._unsupported:
            return []
        number = frame.number
        out: list[Event] = take_events(self._pending, number, end_offset) if self._pending else []
        if (number - FIRST_FRAME + 1) % STATS_FRAMES == 0 and number >= self._stats_due:
            stats = self.stats()
            self._stats_due = number + STATS_FRAMES * max(1, entry_count(stats) // STATS_ENTRIES)
            out.append(StatsUpdate(end_offset, number, stats))
        return out

    def _take(self, frame: Frame) -> None:
        # The hot path: this runs for every frame of every game.
        if frame.revision and not self._unsupported:
            run = self._rollbacks.add(frame.number, frame.revision)
            self._pending.append((ROLLBACKS, -1, "rollback", {"sent": frame.revision + 1, "frames": run}))
        if self._quiet.begun:
            if self._quiet.take(frame):
                return
            self._add_quiet_frames()
        number = frame.number
        frames, roster, lives, crediting = self._frames, self._roster, self._lives, self.crediting
        frames.last = number
        if frames.first is None:
            self._begin(number)
        if self._unsupported and self._targets is None:
            return
        entry = self._selection.entry(frame) if self._targets is None else frame.entry
        if self._targets is not None:
            self._targets.update(number, () if entry.items is UNSET else entry.items, FIRST_FRAME + frames.timer_start)
        if self._unsupported:
            return
        pending = self._pending
        start = entry.start
        if start is not UNSET and start.scene_frame_counter is not UNSET:
            counter = start.scene_frame_counter
            if counter != self._pauses.expected:
                paused_frames = self._pauses.jump(counter)
                if paused_frames:
                    pending.append((PAUSES, -1, "game_paused", {"frames": paused_frames}))
            self._pauses.expected = counter + 1

        present = entry.players
        players = roster.players
        has_counter = roster.has_counter
        takes_stocks = lives.falls is None
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
                lives.first_seen(player, number)
                has_counter = roster.has_counter
                continue
            player.prev = prev
            player.restarted = has_counter and post.action_state_counter < prev.action_state_counter
            if post.stocks_remaining != prev.stocks_remaining and takes_stocks:
                lost = [] if lost is None else lost
                lost.append(player)
            elif not player.alive and not FLAGS[post.action_state_id] & DYING:
                lives.spawn(player, number)
        if gone:
            players = [p for p in players if p.index in present and present[p.index].post is not UNSET]
        if lost is not None:
            lost = [player for player in lost if lives.change_stocks(player, number, lost)]
        if lives.falls is not None:
            lost = [lives.fall(fall, number) for fall in lives.falls.take(present)]

        played = number - frames.timer_start
        playable = played >= FIRST_PLAYABLE_FRAME
        edge = roster.edge
        for player in reversed(players):  # the order of slippi-js, in which the opponent of the lower port comes first
            post, prev = player.post, player.prev
            state = post.action_state_id
            flags = FLAGS[state]
            if player.last_hit is not None:
                hitter_index, hit_state = player.last_hit
                hitter = roster.by_index[hitter_index]
                if hitter.restarted or hitter.post.action_state_id != hit_state:
                    player.last_hit = None
            damage = post.percent - prev.percent
            if damage:
                values = {"playerIndex": player.index, "percent": post.percent, "change": damage}
                pending.append((PERCENT, player.index, "percent_changed", values))
                if damage > 0 and not flags & HIT and crediting.counts_all_damage:
                    crediting.hit_without_stun(player, number, damage)
            dies = lost is not None and player in lost
            conversions, combos = player.conversions, player.combos
            if flags & HIT:
                crediting.hit(player, number, damage, flags)
                conversions.counter = combos.counter = 0
                if dies:
                    crediting.end(player, number, dies=True)
            elif conversions.open is not None or combos.open is not None or dies:
                if conversions.counter or flags & CONTROL:
                    conversions.counter += 1
                combos.counter = 0 if flags & HELD else combos.counter + 1
                if dies or conversions.counter > RESET_FRAMES or combos.counter > RESET_FRAMES:
                    crediting.end(player, number, dies=dies)

            if player.restarted or state != prev.action_state_id:
                self._begin_action(player, number)
            elif player.actions.due is not None and number >= player.actions.due:
                pending.append((ACTIONS, player.index, *player.actions.fail()))

            if player.pre is not UNSET:
                player.inputs.update(played, player.pre)

            if playable:
                positions = player.positions
                if flags & (SHIELD | LEDGE):
                    positions.shield_or_ledge(flags)
                x = post.position_x
                if x > edge or x < -edge or post.position_y < BELOW or positions.off_stage or positions.recovering:
                    positions.update(post, flags, punished=conversions.open is not None)

        if playable:
            count_stage_control(players)
        if crediting.ended:
            crediting.close_conversions()
        if playable and self._targets is None and type(frame.content) is PackedFrame:
            self._quiet.begin(frame.content, number, players, roster)

    def _add_quiet_frames(self) -> None:
        """Let the computers add the quiet frames that they haven't seen."""
        if not self._quiet.begun:
            return
        frames, last = self._quiet.end(self._roster, self._frames.timer_start)
        if frames and self._frames.last is not None:
            self._frames.last += frames
            self._selection.before = last
            if self._pauses.expected is not None:
                self._pauses.expected += frames

    def _begin(self, number: int) -> None:
        """Take the number of the first frame."""
        self._frames.first = number
        if self._gate is None:
            self._frames.timer_start = timer_start(number)

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
            self._pending.append((FORMS, player.index, "transformed", values))
        others = [
            o.post
            for o in self._roster.opponents[player.index]
            if o.post is not None and (self._roster.is_pair or o.alive)
        ]
        for kind, values in actions.begin(number, post, player.prev, others):
            self._pending.append((ACTIONS, player.index, kind, values))

    def _extra(self, last: int) -> Extra:
        players = [self._player_extra(player, last) for player in self._roster.players]
        for player, score in zip(players, self._lives.scores(), strict=False):
            player.falls, player.kos, player.score = score.falls, score.kos, score.score
            player.self_destructs = score.self_destructs
        return Extra(
            timer=timer_text(self.settings, last - self._frames.timer_start),
            players=players,
            first_blood=UNSET if self.crediting.first_blood is None else self.crediting.first_blood,
            rollbacks=self._rollbacks.totals() if self._rollbacks.frames else UNSET,
            pauses=self._pauses.count,
            paused_frames=self._pauses.frames,
        )

    def _player_extra(self, player: Player, last: int) -> PlayerExtra:
        positions = player.positions
        gauge = player.inputs.per_minute(last - self._frames.timer_start)
        known = positions.edge is not None and (player.post is None or player.post.is_airborne is not UNSET)
        return PlayerExtra(
            player_index=player.index,
            kill_moves=list(player.hits.kill_moves),
            self_destructs=player.stocks.self_destructs,
            exchanges=player.hits.totals(),
            characters=[] if player.post is None else player.forms.totals(player.post.frame),
            shield_frames=positions.shield_frames,
            ledge_frames=positions.ledge_frames,
            off_stage_frames=positions.off_stage_frames if known else UNSET,
            recoveries=ratio(positions.recovered, positions.recoveries) if known else UNSET,
            stage_control=ratio(positions.control_frames, positions.contested_frames),
            live_inputs_per_minute=UNSET if gauge is None else gauge,
            stocks_given_up=player.stocks.given_up if self.crediting.crew else UNSET,
        )
