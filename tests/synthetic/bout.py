"""The simulation of a match: bots decide, fighters move, hits are dealt and stocks lost until one side is left.

A `Bout` is an iterator of `FrameEvents`. Each part of it draws from its own random generator, all derived from one
seed, so that an option such as items has no effect on the rest.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from slpstream.formats.slippi.commands import FIRST_FRAME, FRAME_START, FRAMES_PER_SECOND
from tests.synthetic.body import Mode
from tests.synthetic.bot import Bot
from tests.synthetic.combat import Combat
from tests.synthetic.controls import QUIT, REST, Command, Controller, Pad, Verb
from tests.synthetic.fighter import Fighter
from tests.synthetic.items import Items
from tests.synthetic.record import post_frame, pre_frame
from tests.synthetic.roster import NANA, OTHER_FORM, POPO, Character
from tests.synthetic.stages import Scenery, Stage

_FOLLOWER_DELAY_FRAMES = 6
_TRANSFORMS_FROM_FRAME, _TRANSFORMS_EVERY_FRAMES = 60, 240
_MAX_FOLLOWER_DISTANCE = 22.0


class FrameEvents(NamedTuple):
    """The number of a frame and its decoded events, each kind in the order of the replay."""

    number: int
    start: Any
    pres: list[Any]
    posts: list[Any]
    stage_events: list[Any]
    items: list[Any]


class Bout:
    """A match of two to four players. Iterate once; then `fighters`, `ranking` and `ending` have the result."""

    def __init__(
        self,
        stage: Stage,
        *,
        seed: int,
        characters: Sequence[Character],
        stocks: int,
        last_frame: int | None,
        quits: bool,
        followers: bool,
        items: bool,
        teams: bool,
        time_limit_seconds: int,
        start_percent: float,
        pauses: Mapping[int, int],
    ) -> None:
        """Set up a match of one player for each of `characters`.

        The match stops at `last_frame`; with `quits`, the losing player quits there. With `followers`, player 0 has the
        Ice Climbers. With `teams`, players 0 and 2 play against 1 and 3. `pauses` has the lengths of pauses in frames,
        by the number of the frame after the pause. Zelda and Sheik transform every few seconds.
        """
        self.random_seed = random.Random(seed).getrandbits(32)
        self.ending = "game"
        """The end of the match: `game`, `time` or `quit`."""
        self.quitter: int | None = None
        self.last_number = FIRST_FRAME
        instances = count(1)
        leaders = [POPO, *characters[1:]] if followers else characters
        self.fighters = [
            Fighter(index, character, stage, instances, stocks=stocks, follower=False)
            for index, character in enumerate(leaders)
        ]
        self._leaders = list(self.fighters)
        if followers:
            self.fighters.insert(1, Fighter(0, NANA, stage, instances, stocks=stocks, follower=True))
        for fighter in self.fighters:
            fighter.team = fighter.index % 2 if teams else fighter.index
            fighter.percent = start_percent
        self._defeated: list[int] = []
        """Indices of the players without stocks, in the order in which they lost the last one."""
        self._last_frame = last_frame
        self._quits = quits
        self._time_limit_frames = time_limit_seconds * FRAMES_PER_SECOND
        self._pauses = pauses
        self._paused_frames = 0
        self._transforms_at = dict.fromkeys(self.fighters, _TRANSFORMS_FROM_FRAME)
        self._scenery = Scenery(stage, _generator(seed, "stage"))
        self._combat = Combat(_generator(seed, "combat"))
        self._items = Items(_generator(seed, "items"), spawning=items)
        # The word `pilot` is part of the seed: another one would change every match.
        self._bots = {f: Bot(_generator(seed, f"pilot {i}"), shoots=items) for i, f in enumerate(self.fighters)}
        self._controllers = {fighter: Controller() for fighter in self.fighters}
        self._delayed_commands: deque[Command] = deque([REST] * _FOLLOWER_DELAY_FRAMES)

    @property
    def ranking(self) -> list[int]:
        """Player indices from first to last place: by survival, then by stocks, then by percent."""
        alive = [f for f in self._leaders if f.index not in self._defeated]
        alive.sort(key=lambda f: (-f.stocks, f.percent, f.index))
        return [f.index for f in alive] + self._defeated[::-1]

    def __iter__(self) -> Iterator[FrameEvents]:
        seed = self.random_seed
        for number in count(FIRST_FRAME):
            stops = number == self._last_frame
            if stops and self._quits:
                self.quitter = self.ranking[-1]
            seed = (seed * 214013 + 2531011) & 0xFFFF_FFFF
            yield self._frame(number, seed)
            self.last_number = number
            if len({f.team for f in self._leaders if f.stocks > 0}) <= 1:
                self.quitter = None
                return
            if stops or number == self._time_limit_frames:
                self.ending = "quit" if stops else "time"
                return

    def _frame(self, number: int, seed: int) -> FrameEvents:
        present = [f for f in self.fighters if f.mode is not Mode.GONE]
        commands = self._commands(number, present)
        pres = []
        for fighter in present:
            pad = self._controllers[fighter].pad(commands[fighter], fighter.facing)
            if fighter.index == self.quitter and not fighter.follower:
                pad = Pad(left=1.0, right=1.0, physical=QUIT)
            pres.append(pre_frame(fighter, number, seed, pad))
        stage_events = self._scenery.advance(number)
        surfaces = self._scenery.surfaces
        for fighter in present:
            fighter.advance(commands[fighter], surfaces, self._ledges_held_by_others(fighter))
        self._combat.resolve(present, commands)
        items = self._items.advance(number, present, self._combat, surfaces)
        self._handle_deaths(present)
        posts = [post_frame(fighter, number) for fighter in present if fighter.mode is not Mode.GONE]
        gone = {(f.index, f.follower) for f in present if f.mode is Mode.GONE}
        pres = [pre for pre in pres if (pre.player_index, pre.is_follower) not in gone]
        self._paused_frames += self._pauses.get(number, 0)
        counter = number - FIRST_FRAME + self._paused_frames
        start = FRAME_START.cls(frame=number, seed=seed, scene_frame_counter=counter)
        return FrameEvents(number, start, pres, posts, stage_events, items)

    def _commands(self, number: int, present: Sequence[Fighter]) -> dict[Fighter, Command]:
        commands = {}
        for fighter in present:
            others = [other for other in present if other.team != fighter.team]
            commands[fighter] = self._bots[fighter].command(number, fighter, others)
        for fighter in present:
            if fighter.follower:
                commands[fighter] = self._follow(fighter, commands)
            elif self._transforms_now(fighter, number):
                commands[fighter] = Command(Verb.TRANSFORM)
        return commands

    def _transforms_now(self, fighter: Fighter, number: int) -> bool:
        transforms = fighter.character.internal_id in OTHER_FORM and fighter.mode is Mode.GROUND
        if not transforms or number < self._transforms_at[fighter]:
            return False
        self._transforms_at[fighter] = number + _TRANSFORMS_EVERY_FRAMES
        return True

    def _follow(self, follower: Fighter, commands: dict[Fighter, Command]) -> Command:
        """The command of a follower: that of the leader a few frames ago, or a dash toward a leader far away."""
        leader = self.fighters[0]
        self._delayed_commands.append(commands.get(leader, REST))
        delayed = self._delayed_commands.popleft()
        if follower.mode is not Mode.GROUND or follower.offstage:
            return commands[follower] if follower.mode is not Mode.SHIELD else delayed
        distance = leader.x - follower.x
        if abs(distance) > _MAX_FOLLOWER_DISTANCE and leader.in_play and not leader.offstage:
            return Command(Verb.DASH, 1.0 if distance > 0 else -1.0)
        return delayed

    def _ledges_held_by_others(self, fighter: Fighter) -> frozenset[float]:
        hanging = (Mode.LEDGE, Mode.CLIMB)
        return frozenset(1.0 if f.x > 0 else -1.0 for f in self.fighters if f is not fighter and f.mode in hanging)

    def _handle_deaths(self, present: Sequence[Fighter]) -> None:
        for fighter in present:
            if fighter.in_play and _beyond_blast_line(fighter):
                fighter.die()
        for leader in self._leaders:
            if leader.stocks <= 0 and leader.index not in self._defeated:
                self._defeated.append(leader.index)
        for fighter in self.fighters:
            if fighter.follower:
                self._die_and_return_with_leader(fighter, self.fighters[0])

    def _die_and_return_with_leader(self, follower: Fighter, leader: Fighter) -> None:
        follower.stocks = leader.stocks
        if leader.mode is Mode.DEAD and follower.in_play:
            follower.die()
        elif leader.mode is Mode.REBIRTH and leader.age == 0 and follower.mode in (Mode.GONE, Mode.DEAD):
            follower.return_to_play()


def _beyond_blast_line(fighter: Fighter) -> bool:
    left, right, top, bottom = fighter.stage.blast
    if not left < fighter.x < right or fighter.y <= bottom:
        return True
    return fighter.y >= top and (fighter.mode is Mode.STUN or fighter.knock_y > 0)


def _generator(seed: int, part: str) -> random.Random:
    return random.Random(f"slpstream {seed} {part}")
