"""The match itself: pilots decide, fighters move, hits are dealt, stocks are lost, until one side is left.

A bout is an iterator of `Moment`s, the decoded events of one frame each. Every part draws its chance from a generator
of its own, all made from one seed, so that asking for items does not change who wins by more than the items do.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from slpstream.formats.slippi.commands import FIRST_FRAME, FRAME_START, FRAMES_PER_SECOND
from slpstream.simulate.body import Mode
from slpstream.simulate.combat import Combat
from slpstream.simulate.controls import QUIT, REST, Command, Hand, Pad, Verb
from slpstream.simulate.fighter import Fighter
from slpstream.simulate.items import Items
from slpstream.simulate.pilot import Pilot
from slpstream.simulate.record import post_frame, pre_frame
from slpstream.simulate.roster import LINE_UP, NANA, POPO
from slpstream.simulate.stages import Scenery, Stage

TIME_LIMIT_SECONDS = 480
_FOLLOWER_DELAY_FRAMES = 6
_FOLLOWER_NEAR = 22.0


class Moment(NamedTuple):
    """One frame: its number and its events, decoded, each kind in the order of the replay."""

    number: int
    start: Any
    pres: list[Any]
    posts: list[Any]
    stage_events: list[Any]
    items: list[Any]


class Bout:
    """A match of two to four players. Iterate once; afterwards `fighters`, `ranking` and `ending` say how it went."""

    def __init__(
        self,
        stage: Stage,
        *,
        seed: int,
        players: int,
        stocks: int,
        last_frame: int | None,
        gives_up: bool,
        followers: bool,
        items: bool,
        teams: bool,
    ) -> None:
        """`last_frame`: the match stops there, and with `gives_up` the one who is behind quits.

        `followers`: player 0 has the Ice Climbers.
        """
        self.random_seed = random.Random(seed).getrandbits(32)
        self.ending = "game"
        """`game`, `time` or `quit`."""
        self.quitter: int | None = None
        self.last_number = FIRST_FRAME
        instances = count(1)
        line_up = [POPO, *LINE_UP[1:]] if followers else LINE_UP
        self.fighters = [
            Fighter(index, line_up[index], stage, instances, stocks=stocks, follower=False) for index in range(players)
        ]
        self._leaders = list(self.fighters)
        if followers:
            self.fighters.insert(1, Fighter(0, NANA, stage, instances, stocks=stocks, follower=True))
        for fighter in self.fighters:
            fighter.team = fighter.index % 2 if teams else fighter.index
        self._out: list[int] = []
        self._last_frame = last_frame
        self._gives_up = gives_up
        self._scenery = Scenery(stage, _generator(seed, "stage"))
        self._combat = Combat(_generator(seed, "combat"))
        self._items = Items(_generator(seed, "items"), spawning=items)
        self._pilots = {f: Pilot(_generator(seed, f"pilot {i}"), shoots=items) for i, f in enumerate(self.fighters)}
        self._hands = {fighter: Hand() for fighter in self.fighters}
        self._orders: deque[Command] = deque([REST] * _FOLLOWER_DELAY_FRAMES)

    @property
    def ranking(self) -> list[int]:
        """Player indices, the best first: who lasted longer, then more stocks, then less percent."""
        left = [f for f in self._leaders if f.index not in self._out]
        left.sort(key=lambda f: (-f.stocks, f.percent, f.index))
        return [f.index for f in left] + self._out[::-1]

    def __iter__(self) -> Iterator[Moment]:
        seed = self.random_seed
        limit = TIME_LIMIT_SECONDS * FRAMES_PER_SECOND
        for number in count(FIRST_FRAME):
            stops = number == self._last_frame
            if stops and self._gives_up:
                self.quitter = self.ranking[-1]
            seed = (seed * 214013 + 2531011) & 0xFFFF_FFFF
            yield self._moment(number, seed)
            self.last_number = number
            if len({f.team for f in self._leaders if f.stocks > 0}) <= 1:
                self.quitter = None
                return
            if stops or number == limit:
                self.ending = "quit" if stops else "time"
                return

    def _moment(self, number: int, seed: int) -> Moment:
        present = [f for f in self.fighters if f.mode is not Mode.GONE]
        commands = self._commands(number, present)
        pres = []
        for fighter in present:
            pad = self._hands[fighter].pad(commands[fighter], fighter.facing)
            if fighter.index == self.quitter and not fighter.follower:
                pad = Pad(left=1.0, right=1.0, physical=QUIT)
            pres.append(pre_frame(fighter, number, seed, pad))
        stage_events = self._scenery.advance(number)
        surfaces = self._scenery.surfaces
        for fighter in present:
            fighter.advance(commands[fighter], surfaces, self._taken_ledges(fighter))
        self._combat.resolve(present, commands)
        items = self._items.advance(number, present, self._combat, surfaces)
        self._bury(present)
        posts = [post_frame(fighter, number) for fighter in present if fighter.mode is not Mode.GONE]
        gone = {(f.index, f.follower) for f in present if f.mode is Mode.GONE}
        pres = [pre for pre in pres if (pre.player_index, pre.is_follower) not in gone]
        start = FRAME_START.new(frame=number, seed=seed, scene_frame_counter=number - FIRST_FRAME)
        return Moment(number, start, pres, posts, stage_events, items)

    def _commands(self, number: int, present: Sequence[Fighter]) -> dict[Fighter, Command]:
        commands = {}
        for fighter in present:
            others = [other for other in present if other.team != fighter.team]
            commands[fighter] = self._pilots[fighter].command(number, fighter, others)
        for fighter in present:
            if fighter.follower:
                commands[fighter] = self._follow(fighter, commands)
        return commands

    def _follow(self, follower: Fighter, commands: dict[Fighter, Command]) -> Command:
        """A follower does what her leader did a moment ago, and comes after him when he is far."""
        leader = self.fighters[0]
        self._orders.append(commands.get(leader, REST))
        order = self._orders.popleft()
        if follower.mode is not Mode.GROUND or follower.offstage:
            return commands[follower] if follower.mode is not Mode.SHIELD else order
        away = leader.x - follower.x
        if abs(away) > _FOLLOWER_NEAR and leader.in_play and not leader.offstage:
            return Command(Verb.DASH, 1.0 if away > 0 else -1.0)
        return order

    def _taken_ledges(self, but: Fighter) -> frozenset[float]:
        hanging = (Mode.LEDGE, Mode.CLIMB)
        return frozenset(1.0 if f.x > 0 else -1.0 for f in self.fighters if f is not but and f.mode in hanging)

    def _bury(self, present: Sequence[Fighter]) -> None:
        """Who has crossed a blast line dies; who has no stock left is out; followers share their leader's fate."""
        for fighter in present:
            if fighter.in_play and _over_the_line(fighter):
                fighter.die()
        for leader in self._leaders:
            if leader.stocks <= 0 and leader.index not in self._out:
                self._out.append(leader.index)
        for fighter in self.fighters:
            if fighter.follower:
                self._share(fighter, self.fighters[0])

    def _share(self, follower: Fighter, leader: Fighter) -> None:
        follower.stocks = leader.stocks
        if leader.mode is Mode.DEAD and follower.in_play:
            follower.die()
        elif leader.mode is Mode.REBIRTH and leader.age == 0 and follower.mode in (Mode.GONE, Mode.DEAD):
            follower.return_to_play()


def _over_the_line(fighter: Fighter) -> bool:
    left, right, top, bottom = fighter.stage.blast
    if not left < fighter.x < right or fighter.y <= bottom:
        return True
    return fighter.y >= top and (fighter.mode is Mode.STUN or fighter.knock_y > 0)


def _generator(seed: int, part: str) -> random.Random:
    return random.Random(f"slpstream {seed} {part}")
