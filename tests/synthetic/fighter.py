"""A character that obeys commands: the effect of each command in each mode.

`Fighter.advance` plays one frame: time passes, the handler of the current mode acts on the command, and the body moves.
In hitlag everything is frozen except the hitlag itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import ClassVar

from tests.synthetic import states
from tests.synthetic.body import FULL_SHIELD, HANG_X, MOTIONLESS, REBIRTH_FRAMES, STAR_STOCK_FRAME, Body, Mode
from tests.synthetic.controls import Command, Verb
from tests.synthetic.roster import OTHER_FORM, Character, Move
from tests.synthetic.stages import Platform, Stage

_ENTRY_FRAMES, _ENTRY_START_FRAMES, _ENTRY_END_FRAMES, _ENTRY_RISE = 5, 29, 30, 0.045
_SHIELD_LOSS, _SHIELD_GAIN, _WEAK_SHIELD = 0.28, 0.07, 8.0
_AIR_DODGE_SPEED, _AIR_DODGE_FRAMES = 3.1, 49
_L_CANCEL_WINDOW = 7
_LEDGE_COOLDOWN_FRAMES, _MAX_LEDGE_FRAMES, _LEDGE_JUMP_FRAMES = 30, 240, 12
_DASH_FRAMES, _RUN_AFTER = 21, 14
_GRAB_FRAMES = 30
_TRANSFORM_FRAMES, _EMERGE_FRAMES = 44, 38
_AERIALS = frozenset({"nair", "fair", "bair", "uair", "dair"})
_LASER_STATES = ("SpecialNStart", "SpecialNLoop", "SpecialNEnd")
_AIR_LASER_STATES = ("SpecialAirNStart", "SpecialAirNLoop", "SpecialAirNEnd")
_LASER_FRAMES = (6, 12, 8)


class Fighter(Body):
    """A character under the control of commands."""

    def __init__(
        self, index: int, character: Character, stage: Stage, instances: count[int], *, stocks: int, follower: bool
    ) -> None:
        super().__init__(index, character, stage, instances, stocks=stocks, follower=follower)
        self.victim: Fighter | None = None
        """The fighter that this one holds in a grab."""
        self._jump = Verb.REST
        self._climb_from = (0.0, 0.0)
        # The players enter one after another.
        self.timer = _ENTRY_FRAMES * (index + 1) + 1
        self.on_timer = self._start_entry

    def advance(self, command: Command, surfaces: Sequence[Platform], held_ledges: frozenset[float]) -> None:
        """Play the next frame.

        `surfaces` begins with the floor; `held_ledges` are the sides (1 right, -1 left) of ledges that others hold.
        """
        if self.hitlag:
            self.hitlag -= 1
            if self.hitlag:
                return
            self.hit_by_other = False
        self.command = command
        self._pass_time()
        if self.timer:
            self.timer -= 1
            if not self.timer:
                self.on_timer()
        self._ACT[self.mode](self, command)
        if self.mode not in MOTIONLESS:
            self.drive()
            self.travel(surfaces, held_ledges)

    def _pass_time(self) -> None:
        self.counter += self.rate
        self.age += 1
        self.l_cancel = 0
        self.l_pressed = _L_CANCEL_WINDOW if self.command.verb is Verb.L_CANCEL else max(0, self.l_pressed - 1)
        self.ledge_wait = max(0, self.ledge_wait - 1)
        self.intangible = max(0, self.intangible - 1)
        if self.mode is not Mode.REBIRTH:
            self.invulnerable = max(0, self.invulnerable - 1)
        if self.mode is not Mode.SHIELD:
            self.shield = min(FULL_SHIELD, self.shield + _SHIELD_GAIN)

    def _start_entry(self) -> None:
        self.enter(states.ENTRY_START, Mode.ENTRY, _ENTRY_START_FRAMES, self._end_entry)

    def _end_entry(self) -> None:
        self.enter(states.ENTRY_END, Mode.ENTRY, _ENTRY_END_FRAMES, counter=-1.0, rate=0.0)

    def _entering(self, command: Command) -> None:
        if self.state == states.ENTRY_START:
            self.y += _ENTRY_RISE

    def _on_ground(self, command: Command) -> None:
        verb, x = command.verb, command.x
        if verb is Verb.ATTACK:
            self._attack(self.character.moves[command.move])
        elif verb is Verb.GRAB:
            self.enter(states.CATCH, Mode.BUSY, _GRAB_FRAMES, counter=1.0)
        elif verb in (Verb.JUMP, Verb.SHORT_HOP):
            self._jump_squat(verb)
        elif verb is Verb.SHIELD:
            self.enter(states.GUARD_ON, Mode.SHIELD, 8, self._guard, counter=-1.0, rate=0.0)
        elif verb in (Verb.ROLL, Verb.DODGE):
            self._evade(verb, x)
        elif verb is Verb.DASH:
            self._dash(1.0 if x > 0 else -1.0)
        elif verb is Verb.WALK:
            self._walk(x)
        elif verb is Verb.DROP and self.ground_id != self.stage.floor.ground_id:
            self.dropped_through = self.ground_id
            self.leave_ground()
            self.speed_y = -0.5
            self.enter(states.PASS, Mode.AIR)
        elif verb is Verb.LASER and self.character.laser_type is not None:
            self._shoot(_LASER_STATES, Mode.BUSY)
        elif verb is Verb.TRANSFORM:
            self._transform()
        elif verb is Verb.CROUCH:
            if self.state not in (states.SQUAT, states.SQUAT_WAIT):
                self.enter(states.SQUAT, Mode.GROUND, 7, self._squat, counter=1.0)
        elif self.state == states.RUN:
            self.enter(states.RUN_BRAKE, Mode.BUSY, 12)
        elif self.state not in (states.WAIT, states.DASH):
            self.settle()

    def _attack(self, move: Move) -> None:
        self.enter(move.state, Mode.BUSY if self.grounded else Mode.BUSY_AIR, move.total, counter=1.0)
        self.move = move
        self.last_hits = {}

    def _squat(self) -> None:
        self.enter(states.SQUAT_WAIT, Mode.GROUND)

    def _dash(self, direction: float) -> None:
        if direction != self.facing:
            self.facing = direction
            self.enter(states.TURN, Mode.BUSY, 1, self._start_dash, counter=1.0)
        elif self.state == states.DASH:
            if self.age >= _RUN_AFTER:
                self.enter(states.RUN, Mode.GROUND)
        elif self.state != states.RUN:
            self._start_dash()

    def _start_dash(self) -> None:
        self.enter(states.DASH, Mode.GROUND, _DASH_FRAMES, counter=1.0)

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

    def _jump_squat(self, verb: Verb) -> None:
        self._jump = verb
        self.enter(states.KNEE_BEND, Mode.KNEE_BEND, self.character.jump_squat, self._take_off)

    def _take_off(self) -> None:
        character, x = self.character, self.command.x
        max_speed = character.air_speed * 1.4
        self.leave_ground()
        self.speed_y = character.short_hop if self._jump is Verb.SHORT_HOP else character.jump
        self.speed_x = max(-max_speed, min(max_speed, self.speed_x * 0.6 + x * character.air_speed * 0.6))
        backward = x * self.facing < -0.3
        self.enter(states.JUMP_B if backward else states.JUMP_F, Mode.AIR)

    def _shoot(self, state_names: Sequence[str], mode: Mode) -> None:
        first, loop, last = (states.own_state(self.character.internal_id, name) for name in state_names)
        draw_frames, fire_frames, holster_frames = _LASER_FRAMES

        def end() -> None:
            self.enter(last, mode, holster_frames, new_instance=False)

        def fire() -> None:
            self.shots += 1
            self.enter(loop, mode, fire_frames, end, new_instance=False)

        self.enter(first, mode, draw_frames, fire, counter=1.0)

    def _transform(self) -> None:
        first = states.own_state(self.character.internal_id, "SpecialLw")
        self.enter(first, Mode.BUSY, _TRANSFORM_FRAMES, self._emerge, counter=1.0)

    def _emerge(self) -> None:
        self.character = OTHER_FORM[self.character.internal_id]
        second = states.own_state(self.character.internal_id, "SpecialLw2")
        self.enter(second, Mode.BUSY, _EMERGE_FRAMES, new_instance=False)

    def _guard(self) -> None:
        self.enter(states.GUARD, Mode.SHIELD, counter=-1.0, rate=0.0)

    def block(self, stun_frames: int) -> None:
        """Block a hit with the shield, which stuns for `stun_frames`."""
        self.enter(states.GUARD_SET_OFF, Mode.SHIELD, max(1, stun_frames), self._guard)

    def _shielding(self, command: Command) -> None:
        verb = command.verb
        if self.state == states.GUARD_SET_OFF:
            return
        self.shield -= _SHIELD_LOSS
        if verb in (Verb.ROLL, Verb.DODGE):
            self._evade(verb, command.x)
        elif verb in (Verb.JUMP, Verb.SHORT_HOP):
            self._jump_squat(verb)
        elif verb is Verb.GRAB:
            self.enter(states.CATCH, Mode.BUSY, _GRAB_FRAMES, counter=1.0)
        elif verb is not Verb.SHIELD or self.shield < _WEAK_SHIELD:
            self.enter(states.GUARD_OFF, Mode.BUSY, 15)

    def _in_air(self, command: Command) -> None:
        verb, x, y = command.verb, command.x, command.y
        if verb is Verb.ATTACK and command.move in _AERIALS:
            self._attack(self.character.moves[command.move])
        elif verb is Verb.DOUBLE_JUMP and self.jumps:
            self.jumps = 0
            self.fast_falling = False
            self.speed_x, self.speed_y = x * self.character.air_speed, self.character.double_jump
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
            self._shoot(_AIR_LASER_STATES, Mode.BUSY_AIR)
        else:
            self._attacking_in_air(command)
            if self.state in (states.JUMP_F, states.JUMP_B) and self.age > 40 and self.speed_y < 0:
                self.settle()

    def _attacking_in_air(self, command: Command) -> None:
        if command.verb is Verb.FAST_FALL and self.speed_y < 0:
            self.fast_falling = True

    def _recover(self) -> None:
        recovery = self.character.recovery
        start = states.own_state(self.character.internal_id, recovery.start_state)
        flight = states.own_state(self.character.internal_id, recovery.flight_state)

        def fly() -> None:
            x, y = self.command.x, self.command.y
            length = math.hypot(x, y) or 1.0
            self.speed_x, self.speed_y = recovery.speed * x / length, recovery.speed * y / length
            if abs(x) > 0.1:
                self.facing = math.copysign(1.0, x)
            new_instance = flight != start
            self.enter(flight, Mode.RECOVERY, recovery.flight_frames, self._fall_helpless, new_instance=new_instance)

        self.speed_x = self.speed_y = 0.0
        self.jumps = 0
        self.fast_falling = False
        self.enter(start, Mode.RECOVERY, recovery.start_frames, fly, counter=1.0)

    def _fall_helpless(self) -> None:
        self.enter(states.FALL_SPECIAL, Mode.HELPLESS)

    def _stunned(self, command: Command) -> None:
        self.hitstun -= 1
        if self.hitstun > 0:
            return
        if self.tumbles and not self.grounded:
            self.enter(states.DAMAGE_FALL, Mode.TUMBLE)
        else:
            self.settle()

    def _lying(self, command: Command) -> None:
        if self.state != states.DOWN_WAIT_U or (command.verb is not Verb.GET_UP and self.age <= 60):
            return
        self.intangible = 20
        if not command.x:
            self.enter(states.DOWN_STAND_U, Mode.BUSY, 30)
            return
        forward = (command.x > 0) == (self.facing > 0)
        self.enter(states.DOWN_FORWARD_U if forward else states.DOWN_BACK_U, Mode.BUSY, 35)
        self.speed_x = math.copysign(1.8, command.x)

    def _hanging(self, command: Command) -> None:
        if self.state != states.CLIFF_WAIT:
            return
        if command.verb is Verb.CLIMB:
            self._climb(states.CLIFF_CLIMB_QUICK, 33)
        elif command.verb is Verb.ROLL:
            self._climb(states.CLIFF_ESCAPE_QUICK, 49)
        elif command.verb is Verb.JUMP:
            self._climb(states.CLIFF_JUMP_QUICK_1, _LEDGE_JUMP_FRAMES, self._ledge_jump)
        elif command.verb is Verb.DROP or self.age > _MAX_LEDGE_FRAMES:
            self.ledge_wait = _LEDGE_COOLDOWN_FRAMES
            self.settle()

    def _climb(self, state: int, frames: int, then: Callable[[], None] | None = None) -> None:
        self._climb_from = self.x, self.y
        self.intangible = frames - 8
        self.enter(state, Mode.CLIMB, frames, then)

    def _ledge_jump(self) -> None:
        self.ledge_wait = _LEDGE_COOLDOWN_FRAMES
        self.speed_x, self.speed_y = self.facing * 0.7, self.character.jump * 0.9
        self.enter(states.CLIFF_JUMP_QUICK_2, Mode.AIR)

    def _climbing(self, command: Command) -> None:
        """Move up in the first half of the action, inward in the second."""
        start_x, start_y = self._climb_from
        if self.state == states.CLIFF_JUMP_QUICK_1:
            progress = self.age / _LEDGE_JUMP_FRAMES
            self.x, self.y = start_x, start_y + (self.stage.floor.y - start_y) * progress
            return
        rolls = self.state == states.CLIFF_ESCAPE_QUICK
        inward = HANG_X + (35.0 if rolls else 6.0)
        progress = min(1.0, self.age / (48.0 if rolls else 32.0))
        self.x = start_x + self.facing * inward * max(0.0, progress * 2 - 1)
        self.y = start_y + (self.stage.floor.y - start_y) * min(1.0, progress * 2)
        if progress >= 0.5:
            self.grounded, self.ground_id, self.jumps = True, self.stage.floor.ground_id, 2

    def _dying(self, command: Command) -> None:
        if self.state == states.DEAD_UP_STAR:
            self.y -= 1.05
            if self.age == STAR_STOCK_FRAME:
                self.lose_stock()

    def _on_platform(self, command: Command) -> None:
        if self.state == states.REBIRTH:
            start, end = self.stage.rebirth
            self.y += (end - start) / REBIRTH_FRAMES
        elif command.verb is not Verb.REST:
            self.settle()

    def _ignore(self, command: Command) -> None:
        """Commands have no effect in this mode."""

    _ACT: ClassVar[dict[Mode, Callable[[Fighter, Command], None]]] = {
        Mode.ENTRY: _entering,
        Mode.GROUND: _on_ground,
        Mode.BUSY: _ignore,
        Mode.KNEE_BEND: _ignore,
        Mode.AIR: _in_air,
        Mode.BUSY_AIR: _attacking_in_air,
        Mode.AIR_DODGE: _ignore,
        Mode.RECOVERY: _ignore,
        Mode.HELPLESS: _ignore,
        Mode.SHIELD: _shielding,
        Mode.STUN: _stunned,
        Mode.TUMBLE: _in_air,
        Mode.DOWN: _lying,
        Mode.LEDGE: _hanging,
        Mode.CLIMB: _climbing,
        Mode.HOLD: _ignore,
        Mode.HELD: _ignore,
        Mode.DEAD: _dying,
        Mode.REBIRTH: _on_platform,
        Mode.GONE: _ignore,
    }
