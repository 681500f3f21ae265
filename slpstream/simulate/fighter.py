"""One character of the synthetic match: a body that obeys commands, gravity and what hits it.

A fighter is always in one `Mode`, which says what a command can do now; the action state says how that looks. Every frame
`advance` lets the mode act, then moves the body. Being hit, held and thrown comes from `combat`, which calls `enter` as well.
Frozen in hitlag, nothing but the hitlag itself goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import count
from typing import ClassVar

from slpstream.simulate import states
from slpstream.simulate.controls import REST, Command, Verb
from slpstream.simulate.roster import Character, Move
from slpstream.simulate.stages import Platform, Stage

NOBODY = 6
"""What `last hit by` has while nobody has hit."""

FULL_SHIELD = 60.0
DEAD_FRAMES, STAR_FRAMES, STAR_STOCK_FRAME = 60, 176, 131
"""How long a death takes; on the way up the stock is lost only when the star has gone out."""

_REBIRTH_FRAMES, _REBIRTH_WAIT_FRAMES, _REBIRTH_INVULNERABLE_FRAMES = 60, 300, 120
_SHIELD_LOSS, _SHIELD_GAIN, _WEAK_SHIELD = 0.28, 0.07, 8.0
_KNOCKBACK_DECAY = 0.051
_AIR_DODGE_SPEED, _AIR_DODGE_DECAY, _AIR_DODGE_FRAMES = 3.1, 0.9, 49
_L_CANCEL_WINDOW = 7
_LEDGE_REACH, _LEDGE_LOW, _LEDGE_HIGH, _LEDGE_COOLDOWN = 10.0, -24.0, -3.0, 30
_HANG_X, _HANG_Y = 2.0, -14.4
_STUN_SPEED = 0.03
_OWN_LASER_STATES = ("SpecialNStart", "SpecialNLoop", "SpecialNEnd")
_OWN_AIR_LASER_STATES = ("SpecialAirNStart", "SpecialAirNLoop", "SpecialAirNEnd")


class Mode(Enum):
    """What a command can do now."""

    ENTRY = auto()
    GROUND = auto()
    BUSY = auto()
    KNEE_BEND = auto()
    AIR = auto()
    BUSY_AIR = auto()
    AIR_DODGE = auto()
    RECOVERY = auto()
    HELPLESS = auto()
    SHIELD = auto()
    STUN = auto()
    TUMBLE = auto()
    DOWN = auto()
    LEDGE = auto()
    CLIMB = auto()
    HOLD = auto()
    HELD = auto()
    DEAD = auto()
    REBIRTH = auto()
    GONE = auto()


_UNMOVED = frozenset({Mode.ENTRY, Mode.LEDGE, Mode.CLIMB, Mode.HELD, Mode.DEAD, Mode.REBIRTH, Mode.GONE})
_DRIFTING = frozenset({Mode.AIR, Mode.BUSY_AIR, Mode.HELPLESS, Mode.TUMBLE})
_CATCHING = frozenset({Mode.AIR, Mode.HELPLESS, Mode.RECOVERY, Mode.TUMBLE})
OUT_OF_PLAY = frozenset({Mode.ENTRY, Mode.DEAD, Mode.REBIRTH, Mode.GONE})


class Fighter:
    """A character in the match. Positions in game units, speeds in game units a frame, times in frames."""

    def __init__(
        self, index: int, character: Character, stage: Stage, instances: count[int], *, stocks: int, follower: bool
    ) -> None:
        self.index = index
        self.follower = follower
        self.character = character
        self.stage = stage
        self.stocks = stocks
        self.team = index
        self._instances = instances
        self.percent = 0.0
        self.x, self.y = stage.spawns[index]
        if follower:
            self.x -= math.copysign(10.0, self.x or 1.0)
        self.facing = -1.0 if self.x > 0 else 1.0
        self.speed_x = self.speed_y = 0.0
        self.knock_x = self.knock_y = 0.0
        self.grounded = False
        self.ground_id = 0xFFFF
        self.jumps = 1
        self.fast_falling = False
        self.shield = FULL_SHIELD
        self.hitlag = 0
        self.hit_by_other = False
        self.hitstun = 0
        self.tumbles = False
        self.intangible = 0
        self.invulnerable = 0
        self.last_attack = 0
        self.last_hit_by = NOBODY
        self.combo = 0
        self.instance_hit_by = 0
        self.l_cancel = 0
        self.move: Move | None = None
        self.struck: dict[int, int] = {}
        self.victim: Fighter | None = None
        self.shots = 0
        self.state = states.ENTRY
        self.mode = Mode.ENTRY
        self.counter = -1.0
        self.rate = 0.0
        self.age = 0
        self.instance = next(instances)
        self._timer = 0
        self._then: Callable[[], None] = self._settle
        self._command = REST
        self._l_pressed = 0
        self._short = False
        self._wish = Verb.REST
        self._ledge_wait = 0
        self._dropped: int | None = None
        self._climb_from = (0.0, 0.0)
        self._wait_entry()

    # -- what others ask -----------------------------------------------------------------------------------------------

    @property
    def in_play(self) -> bool:
        """Can hit and be hit, stunned or not."""
        return self.mode not in OUT_OF_PLAY

    @property
    def vulnerable(self) -> bool:
        """Can be hit now."""
        return self.in_play and not self.intangible and not self.invulnerable

    @property
    def offstage(self) -> bool:
        """Beside or below the floor."""
        return not self.grounded and (abs(self.x) > self.stage.edge + 1.0 or self.y < -1.0)

    # -- one frame -----------------------------------------------------------------------------------------------------

    def advance(self, command: Command, surfaces: Sequence[Platform], taken: frozenset[float]) -> None:
        """The next frame: `surfaces` can be stood on, the floor first; `taken` are the signs of the ledges that are held."""
        if self.hitlag:
            self.hitlag -= 1
            if self.hitlag:
                return
            self.hit_by_other = False
        self._command = command
        self._count_down()
        if self._timer:
            self._timer -= 1
            if not self._timer:
                self._then()
        self._ACT[self.mode](self, command)
        if self.mode not in _UNMOVED:
            self._drive()
            self._travel(surfaces, taken)

    def enter(
        self,
        state: int,
        mode: Mode,
        frames: int = 0,
        then: Callable[[], None] | None = None,
        *,
        counter: float = 0.0,
        rate: float = 1.0,
        instance: bool = True,
    ) -> None:
        """A new action. After `frames` (0: never) comes `then`, or standing or falling when there is none."""
        self.state, self.mode = state, mode
        self.counter, self.rate, self.age = counter, rate, 0
        self._timer, self._then = frames, then or self._settle
        self.l_cancel = 0
        if instance:
            self.instance = next(self._instances) & 0xFFFF
        if mode not in (Mode.BUSY, Mode.BUSY_AIR):
            self.move = None

    def _count_down(self) -> None:
        self.counter += self.rate
        self.age += 1
        self.l_cancel = 0
        self._l_pressed = max(0, self._l_pressed - 1)
        self._ledge_wait = max(0, self._ledge_wait - 1)
        self.intangible = max(0, self.intangible - 1)
        if self.mode is not Mode.REBIRTH:
            self.invulnerable = max(0, self.invulnerable - 1)
        if self.mode is not Mode.SHIELD:
            self.shield = min(FULL_SHIELD, self.shield + _SHIELD_GAIN)
        if self._command.verb is Verb.L_CANCEL:
            self._l_pressed = _L_CANCEL_WINDOW

    def _settle(self) -> None:
        if self.grounded:
            self.enter(states.WAIT, Mode.GROUND)
        else:
            self.enter(states.FALL, Mode.AIR)

    # -- the start -----------------------------------------------------------------------------------------------------

    def _wait_entry(self) -> None:
        """The players enter one after the other, five frames apart."""
        self._timer = 5 * (self.index + 1) + 1
        self._then = self._start_entry

    def _start_entry(self) -> None:
        self.enter(states.ENTRY_START, Mode.ENTRY, 29, self._end_entry)

    def _end_entry(self) -> None:
        self.enter(states.ENTRY_END, Mode.ENTRY, 30, counter=-1.0, rate=0.0)

    def _rise_in_entry(self, command: Command) -> None:
        if self.state == states.ENTRY_START:
            self.y += 0.045

    # -- on the ground -------------------------------------------------------------------------------------------------

    def _on_ground(self, command: Command) -> None:
        verb, x = command.verb, command.x
        if verb is Verb.ATTACK:
            self.attack(self.character.moves[command.move])
        elif verb is Verb.GRAB:
            self.enter(states.CATCH, Mode.BUSY, 30, counter=1.0)
        elif verb in (Verb.JUMP, Verb.SHORT_HOP):
            self._bend(verb)
        elif verb is Verb.SHIELD:
            self.enter(states.GUARD_ON, Mode.SHIELD, 8, self._guard, counter=-1.0, rate=0.0)
        elif verb in (Verb.ROLL, Verb.DODGE):
            self._evade(verb, x)
        elif verb is Verb.DASH:
            self._dash(1.0 if x > 0 else -1.0)
        elif verb is Verb.WALK:
            self._walk(x)
        elif verb is Verb.DROP and self.ground_id != self.stage.floor.ground_id:
            self._dropped = self.ground_id
            self._leave_ground()
            self.speed_y = -0.5
            self.enter(states.PASS, Mode.AIR)
        elif verb is Verb.CROUCH:
            if self.state not in (states.SQUAT, states.SQUAT_WAIT):
                self.enter(states.SQUAT, Mode.GROUND, 7, lambda: self.enter(states.SQUAT_WAIT, Mode.GROUND), counter=1.0)
        elif verb is Verb.LASER and self.character.laser_type is not None:
            self._shoot(_OWN_LASER_STATES, Mode.BUSY)
        elif self.state == states.RUN:
            self.enter(states.RUN_BRAKE, Mode.BUSY, 12)
        elif self.state not in (states.WAIT, states.DASH):
            self.enter(states.WAIT, Mode.GROUND)

    def attack(self, move: Move) -> None:
        """Begins a move, on the ground or in the air."""
        self.enter(move.state, Mode.BUSY if self.grounded else Mode.BUSY_AIR, move.total, counter=1.0)
        self.move = move
        self.struck = {}

    def _dash(self, direction: float) -> None:
        if self.state in (states.DASH, states.RUN) and direction == self.facing:
            if self.state == states.DASH and self.age >= 14:
                self.enter(states.RUN, Mode.GROUND)
            return
        start = lambda: self.enter(states.DASH, Mode.GROUND, 21, counter=1.0)  # noqa: E731
        if direction != self.facing:
            self.facing = direction
            self.enter(states.TURN, Mode.BUSY, 1, start, counter=1.0)
        else:
            start()

    def _walk(self, x: float) -> None:
        direction = 1.0 if x > 0 else -1.0
        if direction != self.facing:
            self.facing = direction
            self.enter(states.TURN, Mode.BUSY, 5, counter=1.0)
            return
        state = states.WALK_FAST if abs(x) > 0.7 else states.WALK_SLOW
        if self.state != state:
            self.enter(state, Mode.GROUND, counter=1.0)

    def _evade(self, verb: Verb, x: float) -> None:
        if verb is Verb.DODGE:
            self.enter(states.ESCAPE, Mode.BUSY, 22, counter=1.0)
            self.intangible = 15
            return
        forward = (x > 0) == (self.facing > 0)
        self.enter(states.ESCAPE_F if forward else states.ESCAPE_B, Mode.BUSY, 31, counter=1.0)
        self.intangible = 19
        self.speed_x = math.copysign(2.6, x)

    def _bend(self, verb: Verb) -> None:
        self._wish = verb
        self.enter(states.KNEE_BEND, Mode.KNEE_BEND, self.character.jump_squat, self._take_off)

    def _take_off(self) -> None:
        who, x = self.character, self._command.x
        self._leave_ground()
        self.speed_y = who.short_hop if self._wish is Verb.SHORT_HOP else who.jump
        self.speed_x = max(-who.air_speed * 1.4, min(who.air_speed * 1.4, self.speed_x * 0.6 + x * who.air_speed * 0.6))
        backward = x * self.facing < -0.3
        self.enter(states.JUMP_B if backward else states.JUMP_F, Mode.AIR)

    def _shoot(self, names: Sequence[str], mode: Mode) -> None:
        first, loop, last = (states.own_state(self.character.internal_id, name) for name in names)
        end = lambda: self.enter(last, mode, 8, instance=False)  # noqa: E731

        def fire() -> None:
            self.shots += 1
            self.enter(loop, mode, 12, end, instance=False)

        self.enter(first, mode, 6, fire, counter=1.0)

    # -- shield --------------------------------------------------------------------------------------------------------

    def _guard(self) -> None:
        self.enter(states.GUARD, Mode.SHIELD, counter=-1.0, rate=0.0)

    def _shielding(self, command: Command) -> None:
        verb = command.verb
        if self.state == states.GUARD_SET_OFF:
            return
        self.shield -= _SHIELD_LOSS
        if verb in (Verb.ROLL, Verb.DODGE):
            self._evade(verb, command.x)
        elif verb in (Verb.JUMP, Verb.SHORT_HOP):
            self._bend(verb)
        elif verb is Verb.GRAB:
            self.enter(states.CATCH, Mode.BUSY, 30, counter=1.0)
        elif verb is not Verb.SHIELD or self.shield < _WEAK_SHIELD:
            self.enter(states.GUARD_OFF, Mode.BUSY, 15)

    def guard_hit(self, stun: int) -> None:
        """The shield was hit and holds."""
        self.enter(states.GUARD_SET_OFF, Mode.SHIELD, max(1, stun), self._guard)

    # -- in the air ----------------------------------------------------------------------------------------------------

    def _in_air(self, command: Command) -> None:
        verb, x, y = command.verb, command.x, command.y
        if verb is Verb.ATTACK and command.move in ("nair", "fair", "bair", "uair", "dair"):
            self.attack(self.character.moves[command.move])
        elif verb is Verb.DOUBLE_JUMP and self.jumps:
            self.jumps = 0
            self.fast_falling = False
            self.speed_y = self.character.double_jump
            self.speed_x = x * self.character.air_speed
            backward = x * self.facing < -0.3
            self.enter(states.JUMP_AERIAL_B if backward else states.JUMP_AERIAL_F, Mode.AIR)
        elif verb is Verb.AIR_DODGE:
            length = math.hypot(x, y) or 1.0
            self.speed_x, self.speed_y = _AIR_DODGE_SPEED * x / length, _AIR_DODGE_SPEED * y / length
            self.intangible = 25
            self.enter(states.ESCAPE_AIR, Mode.AIR_DODGE, _AIR_DODGE_FRAMES, self._fall_helpless, counter=1.0)
        elif verb is Verb.RECOVER:
            self._recover()
        elif verb is Verb.LASER and self.character.laser_type is not None and self.mode is Mode.AIR:
            self._shoot(_OWN_AIR_LASER_STATES, Mode.BUSY_AIR)
        else:
            self._maybe_fast_fall(command)
            if self.mode is Mode.AIR and self.speed_y < 0 and self.state in (states.JUMP_F, states.JUMP_B) and self.age > 40:
                self.enter(states.FALL, Mode.AIR)

    def _maybe_fast_fall(self, command: Command) -> None:
        if command.verb is Verb.FAST_FALL and self.speed_y < 0:
            self.fast_falling = True

    def _recover(self) -> None:
        way = self.character.recovery
        start = states.own_state(self.character.internal_id, way.start_state)
        flight = states.own_state(self.character.internal_id, way.flight_state)

        def fly() -> None:
            x, y = self._command.x, self._command.y
            length = math.hypot(x, y) or 1.0
            self.speed_x, self.speed_y = way.speed * x / length, way.speed * y / length
            if abs(x) > 0.1:
                self.facing = math.copysign(1.0, x)
            self.enter(flight, Mode.RECOVERY, way.rise, self._fall_helpless, instance=flight != start)

        self.speed_x = self.speed_y = 0.0
        self.jumps = 0
        self.fast_falling = False
        self.enter(start, Mode.RECOVERY, way.wait, fly, counter=1.0)

    def _fall_helpless(self) -> None:
        self.enter(states.FALL_SPECIAL, Mode.HELPLESS)

    def _leave_ground(self) -> None:
        self.grounded = False
        self.jumps = 1

    # -- hit -----------------------------------------------------------------------------------------------------------

    def stun(self, state: int, knockback: float, angle_radians: float, hitstun: int) -> None:
        """Launched: `knockback` in the game's units, an angle of 0 is to the right."""
        speed = knockback * _STUN_SPEED
        self.speed_x = self.speed_y = 0.0
        self.knock_x, self.knock_y = speed * math.cos(angle_radians), speed * math.sin(angle_radians)
        self.tumbles = knockback >= 80
        self.hitstun = max(1, hitstun)
        self.fast_falling = False
        if self.knock_y > 0.01:
            self._leave_ground()
        self.enter(state, Mode.STUN, counter=1.0)

    def _stunned(self, command: Command) -> None:
        self.hitstun -= 1
        if self.hitstun > 0:
            return
        if self.tumbles and not self.grounded:
            self.enter(states.DAMAGE_FALL, Mode.TUMBLE)
        else:
            self._settle()

    def _lying(self, command: Command) -> None:
        if self.state != states.DOWN_WAIT_U:
            return
        if command.verb is Verb.GET_UP or self.age > 60:
            self.intangible = 20
            if command.x:
                forward = (command.x > 0) == (self.facing > 0)
                self.enter(states.DOWN_FORWARD_U if forward else states.DOWN_BACK_U, Mode.BUSY, 35)
                self.speed_x = math.copysign(1.8, command.x)
            else:
                self.enter(states.DOWN_STAND_U, Mode.BUSY, 30)

    def _lie(self) -> None:
        self.enter(states.DOWN_WAIT_U, Mode.DOWN)

    # -- the ledge -----------------------------------------------------------------------------------------------------

    def _hang(self, side: float) -> None:
        self.x, self.y = side * (self.stage.edge + _HANG_X), self.stage.floor.y + _HANG_Y
        self.facing = -side
        self.speed_x = self.speed_y = self.knock_x = self.knock_y = 0.0
        self.jumps = 1
        self.intangible = 37
        self.fast_falling = False
        self.enter(
            states.CLIFF_CATCH, Mode.LEDGE, 7, lambda: self.enter(states.CLIFF_WAIT, Mode.LEDGE), counter=1.0
        )

    def _hanging(self, command: Command) -> None:
        if self.state != states.CLIFF_WAIT:
            return
        if command.verb is Verb.CLIMB:
            self._climb(states.CLIFF_CLIMB_QUICK, 33)
        elif command.verb is Verb.ROLL:
            self._climb(states.CLIFF_ESCAPE_QUICK, 49)
        elif command.verb is Verb.JUMP:
            self._ledge_wait = _LEDGE_COOLDOWN
            self.x += self.facing * 3.0
            self.y = 1.0
            self.speed_x, self.speed_y = self.facing * 0.7, self.character.jump * 0.9
            self.enter(states.CLIFF_JUMP_QUICK_2, Mode.AIR)
        elif command.verb is Verb.DROP or self.age > 240:
            self._ledge_wait = _LEDGE_COOLDOWN
            self.enter(states.FALL, Mode.AIR)

    def _climb(self, state: int, frames: int) -> None:
        self._climb_from = self.x, self.y
        self.intangible = frames - 8
        self.enter(state, Mode.CLIMB, frames)

    def _climbing(self, command: Command) -> None:
        rolls = self.state == states.CLIFF_ESCAPE_QUICK
        start_x, start_y = self._climb_from
        inward = (self.stage.edge + _HANG_X) - (self.stage.edge - (35.0 if rolls else 6.0))
        share = min(1.0, self.age / (48.0 if rolls else 32.0))
        self.x = start_x + self.facing * inward * max(0.0, share * 2 - 1)
        self.y = start_y + (self.stage.floor.y - start_y) * min(1.0, share * 2)
        if share >= 0.5:
            self.grounded, self.ground_id, self.jumps = True, self.stage.floor.ground_id, 2

    # -- death ---------------------------------------------------------------------------------------------------------

    def die(self) -> None:
        """Over a blast line. The stock is lost at once, or with the star when it is the upper one."""
        left, right, _, bottom = self.stage.blast
        self.speed_x = self.speed_y = self.knock_x = self.knock_y = 0.0
        self.hitstun = self.hitlag = 0
        if left < self.x < right and self.y > bottom:
            self.enter(states.DEAD_UP_STAR, Mode.DEAD, STAR_FRAMES, self._reborn)
            return
        state = states.DEAD_LEFT if self.x <= left else states.DEAD_RIGHT if self.x >= right else states.DEAD_DOWN
        self.enter(state, Mode.DEAD, DEAD_FRAMES, self._reborn, counter=-1.0, rate=0.0)
        self._lose_stock()

    def _lose_stock(self) -> None:
        if not self.follower:
            self.stocks -= 1

    def _dying(self, command: Command) -> None:
        if self.state == states.DEAD_UP_STAR:
            self.y -= 1.05
            if self.age == STAR_STOCK_FRAME:
                self._lose_stock()

    def _reborn(self) -> None:
        """Back on the platform with the next stock; without one, or as a follower who waits for his leader, not there."""
        if self.stocks <= 0 or self.follower:
            self.enter(self.state, Mode.GONE)
            return
        self.return_to_play()

    def return_to_play(self) -> None:
        """The way down on the rebirth platform begins."""
        self.x, self.y = (5.0 if self.follower else 0.0), self.stage.rebirth[0]
        self.percent = 0.0
        self.grounded, self.ground_id, self.jumps = False, 0xFFFF, 1
        self.shield = FULL_SHIELD
        self.last_attack, self.last_hit_by, self.combo, self.instance_hit_by = 0, NOBODY, 0, 0
        self.invulnerable = _REBIRTH_INVULNERABLE_FRAMES
        self.enter(states.REBIRTH, Mode.REBIRTH, _REBIRTH_FRAMES, self._rebirth_wait)

    def _rebirth_wait(self) -> None:
        self.enter(states.REBIRTH_WAIT, Mode.REBIRTH, _REBIRTH_WAIT_FRAMES)

    def _on_platform(self, command: Command) -> None:
        if self.state == states.REBIRTH:
            start, end = self.stage.rebirth
            self.y += (end - start) / _REBIRTH_FRAMES
        elif command.verb is not Verb.REST:
            self._settle()

    # -- movement ------------------------------------------------------------------------------------------------------

    def _drive(self) -> None:
        """Own speed: by feet, by drift, by gravity."""
        who = self.character
        if self.grounded:
            self._drive_ground(who)
            return
        if self.mode is Mode.AIR_DODGE:
            self.speed_x *= _AIR_DODGE_DECAY
            self.speed_y *= _AIR_DODGE_DECAY
            return
        if self.mode is Mode.RECOVERY:
            return
        if self.mode in _DRIFTING:
            wanted = self._command.x * who.air_speed
            self.speed_x += max(-who.air_accel, min(who.air_accel, wanted - self.speed_x))
        else:
            self.speed_x *= 0.98
        limit = who.fast_fall if self.fast_falling else who.fall
        self.speed_y = -limit if self.fast_falling else max(-limit, self.speed_y - who.gravity)

    def _drive_ground(self, who: Character) -> None:
        self.speed_y = 0.0
        if self.state == states.DASH:
            self.speed_x = self.facing * who.dash
        elif self.state == states.RUN:
            self.speed_x = self.facing * who.run
        elif self.state in (states.WALK_SLOW, states.WALK_FAST):
            self.speed_x = self.facing * who.walk * abs(self._command.x)
        elif self.state not in (states.ESCAPE_F, states.ESCAPE_B, states.DOWN_FORWARD_U, states.DOWN_BACK_U) or self.age > 22:
            self.speed_x -= max(-who.friction, min(who.friction, self.speed_x))

    def _travel(self, surfaces: Sequence[Platform], taken: frozenset[float]) -> None:
        self._decay_knockback()
        if self.grounded:
            self._slide(surfaces)
        else:
            self._fly(surfaces, taken)

    def _decay_knockback(self) -> None:
        speed = math.hypot(self.knock_x, self.knock_y)
        left = max(0.0, speed - _KNOCKBACK_DECAY)
        share = left / speed if speed else 0.0
        self.knock_x *= share
        self.knock_y *= share

    def _slide(self, surfaces: Sequence[Platform]) -> None:
        ground = next((s for s in surfaces if s.ground_id == self.ground_id), surfaces[0])
        self.x += self.speed_x + self.knock_x
        self.y = ground.y
        if ground.left <= self.x <= ground.right:
            return
        stays = ground is surfaces[0] or self.mode in (Mode.SHIELD, Mode.HOLD, Mode.DOWN)
        if self.mode is Mode.STUN or not stays:
            self._leave_ground()
            if self.mode is not Mode.STUN:
                self.enter(states.FALL, Mode.AIR)
            return
        self.x = max(ground.left, min(ground.right, self.x))
        self.speed_x = self.knock_x = 0.0

    def _fly(self, surfaces: Sequence[Platform], taken: frozenset[float]) -> None:
        before = self.y
        down = self.speed_y + self.knock_y
        self.x += self.speed_x + self.knock_x
        self.y += down
        if down <= 0:
            passes = self._command.verb is Verb.DROP or self.mode is Mode.RECOVERY
            for surface in surfaces:
                soft = surface is not surfaces[0]
                if soft and (passes or surface.ground_id == self._dropped):
                    continue
                if before >= surface.y - 1e-6 >= self.y - 1e-6 and surface.left <= self.x <= surface.right:
                    self._land(surface)
                    return
        self._keep_outside(surfaces[0])
        self._maybe_catch_ledge(down, taken)

    def _keep_outside(self, floor: Platform) -> None:
        """The floor has walls below it."""
        if self.y < floor.y - 0.5 and floor.left < self.x < floor.right:
            self.x = floor.left if self.x < 0 else floor.right

    def _maybe_catch_ledge(self, down: float, taken: frozenset[float]) -> None:
        if self.mode not in _CATCHING or self._ledge_wait or (down > 0 and self.mode is not Mode.RECOVERY):
            return
        side = 1.0 if self.x > 0 else -1.0
        beyond = abs(self.x) - self.stage.edge
        low, high = self.stage.floor.y + _LEDGE_LOW, self.stage.floor.y + _LEDGE_HIGH
        if side not in taken and -1.0 <= beyond <= _LEDGE_REACH and low <= self.y <= high:
            self._hang(side)

    def _land(self, surface: Platform) -> None:
        mode, move = self.mode, self.move
        speed = self.speed_x + self.knock_x
        self.y, self.grounded, self.ground_id, self.jumps = surface.y, True, surface.ground_id, 2
        self.speed_x, self.speed_y, self.knock_x, self.knock_y = speed, 0.0, 0.0, 0.0
        self.fast_falling, self._dropped = False, None
        if mode is Mode.BUSY_AIR and move is not None:
            self._land_attacking(move)
        elif mode in (Mode.AIR_DODGE, Mode.HELPLESS, Mode.RECOVERY):
            self.enter(states.LANDING_FALL_SPECIAL, Mode.BUSY, 10 if mode is Mode.AIR_DODGE else 20)
        elif (mode is Mode.STUN and self.tumbles) or mode is Mode.TUMBLE:
            self._land_tumbling(speed)
        else:
            self.hitstun = 0
            self.enter(states.LANDING, Mode.BUSY, 4)

    def _land_attacking(self, move: Move) -> None:
        succeeded = self._l_pressed > 0
        lag = move.lag // 2 if succeeded else move.lag
        state = states.LANDING_AIR_N + move.state - states.ATTACK_AIR_N
        self.enter(state, Mode.BUSY, lag, rate=2.0 if succeeded else 1.0, instance=False)
        self.l_cancel = 1 if succeeded else 2

    def _land_tumbling(self, speed: float) -> None:
        self.hitstun = 0
        command = self._command
        if command.verb is not Verb.TECH:
            self.speed_x = speed * 0.3
            self.enter(states.DOWN_BOUND_U, Mode.DOWN, 26, self._lie)
            return
        self.intangible = 20
        if not command.x:
            self.speed_x = 0.0
            self.enter(states.PASSIVE, Mode.BUSY, 26)
            return
        forward = (command.x > 0) == (self.facing > 0)
        self.enter(states.PASSIVE_STAND_F if forward else states.PASSIVE_STAND_B, Mode.BUSY, 40)
        self.speed_x = math.copysign(2.4, command.x)

    def _nothing(self, command: Command) -> None:
        """The body does what it does."""

    _ACT: ClassVar[dict[Mode, Callable[[Fighter, Command], None]]] = {
        Mode.ENTRY: _rise_in_entry,
        Mode.GROUND: _on_ground,
        Mode.BUSY: _nothing,
        Mode.KNEE_BEND: _nothing,
        Mode.AIR: _in_air,
        Mode.BUSY_AIR: _maybe_fast_fall,
        Mode.AIR_DODGE: _nothing,
        Mode.RECOVERY: _nothing,
        Mode.HELPLESS: _nothing,
        Mode.SHIELD: _shielding,
        Mode.STUN: _stunned,
        Mode.TUMBLE: _in_air,
        Mode.DOWN: _lying,
        Mode.LEDGE: _hanging,
        Mode.CLIMB: _climbing,
        Mode.HOLD: _nothing,
        Mode.HELD: _nothing,
        Mode.DEAD: _dying,
        Mode.REBIRTH: _on_platform,
        Mode.GONE: _nothing,
    }
