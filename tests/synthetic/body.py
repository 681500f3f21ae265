"""The physics of a character: movement, landing, hanging from ledges, being launched, and death.

A body is always in one `Mode`, which determines the effects of commands and of hits; the action state represents it in
the replay. Every action begins in `Body.enter`. `fighter` implements the effects of commands, and `combat` the
interactions between characters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import count

from tests.synthetic import states
from tests.synthetic.controls import REST, Verb
from tests.synthetic.roster import Character, Move
from tests.synthetic.stages import Platform, Stage

NOT_HIT = 6
"""The value of `last hit by` before the first hit."""

FULL_SHIELD = 60.0
DEAD_FRAMES, STAR_FRAMES, STAR_STOCK_FRAME = 60, 176, 131
"""Duration of a death, of a star KO, and the frame of a star KO at which the stock is lost."""

REBIRTH_FRAMES = 60
_REBIRTH_WAIT_FRAMES, _REBIRTH_INVULNERABLE_FRAMES = 300, 120
_NO_GROUND = 0xFFFF
_KNOCKBACK_DECAY = 0.051
_STUN_SPEED = 0.03
_AIR_DODGE_DECAY, _STUN_DECAY = 0.9, 0.98
_ROLL_FRAMES = 22
_LEDGE_REACH, _LEDGE_MIN_Y, _LEDGE_MAX_Y = 10.0, -24.0, -3.0
HANG_X, _HANG_Y = 2.0, -14.4
_FOLLOWER_DISTANCE = 10.0


class Mode(Enum):
    """The phases of a character, which differ in the effects of commands."""

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


MOTIONLESS = frozenset({Mode.ENTRY, Mode.LEDGE, Mode.CLIMB, Mode.HELD, Mode.DEAD, Mode.REBIRTH, Mode.GONE})
"""Modes in which speed and gravity do not move the body."""

_DRIFTING = frozenset({Mode.AIR, Mode.BUSY_AIR, Mode.HELPLESS, Mode.TUMBLE})
_CATCHING = frozenset({Mode.AIR, Mode.HELPLESS, Mode.RECOVERY, Mode.TUMBLE})
_OUT_OF_PLAY = frozenset({Mode.ENTRY, Mode.DEAD, Mode.REBIRTH, Mode.GONE})
_ROLLS = frozenset({states.ESCAPE_F, states.ESCAPE_B, states.DOWN_FORWARD_U, states.DOWN_BACK_U})


class Body:
    """A character in the match. Positions are in game units, speeds in game units per frame, times in frames."""

    def __init__(
        self, index: int, character: Character, stage: Stage, instances: count[int], *, stocks: int, follower: bool
    ) -> None:
        """`instances` numbers the actions of all characters in the match."""
        self.index = index
        self.follower = follower
        self.character = character
        self.stage = stage
        self.stocks = stocks
        self.team = index
        self._instances = instances
        self.x, self.y = stage.spawns[index]
        if follower:
            self.x -= math.copysign(_FOLLOWER_DISTANCE, -self.x)
        self.facing = -1.0 if self.x > 0 else 1.0
        self.speed_x = self.speed_y = 0.0
        self.knock_x = self.knock_y = 0.0
        self.grounded = False
        self.ground_id = _NO_GROUND
        self.jumps = 1
        self.fast_falling = False
        self.percent = 0.0
        self.shield = FULL_SHIELD
        self.hitlag = 0
        self.hit_by_other = False
        self.hitstun = 0
        self.tumbles = False
        self.intangible = 0
        self.invulnerable = 0
        self.last_attack = 0
        self.last_hit_by = NOT_HIT
        self.combo = 0
        self.instance_hit_by = 0
        self.l_cancel = 0
        self.move: Move | None = None
        self.last_hits: dict[int, int] = {}
        """The age of the current move when it last hit each victim, by `id(victim)`."""
        self.shots = 0
        self.command = REST
        self.l_pressed = 0
        self.ledge_wait = 0
        self.dropped_through: int | None = None
        """Ground id of the platform that the character is dropping through."""
        self.state = states.ENTRY
        self.mode = Mode.ENTRY
        self.counter = -1.0
        self.rate = 0.0
        self.age = 0
        """Frames since the current action began."""
        self.instance = next(instances)
        self.timer = 0
        self.on_timer: Callable[[], None] = self.settle

    @property
    def in_play(self) -> bool:
        """Whether the character takes part in the fight, stunned or not."""
        return self.mode not in _OUT_OF_PLAY

    @property
    def vulnerable(self) -> bool:
        """Whether the character can be hit now."""
        return self.in_play and not self.intangible and not self.invulnerable

    @property
    def offstage(self) -> bool:
        """Whether the character is in the air to the side of the floor or below it."""
        return not self.grounded and (abs(self.x) > self.stage.edge + 1.0 or self.y < -1.0)

    def enter(
        self,
        state: int,
        mode: Mode,
        frames: int = 0,
        then: Callable[[], None] | None = None,
        *,
        counter: float = 0.0,
        rate: float = 1.0,
        new_instance: bool = True,
    ) -> None:
        """Begin an action that ends after `frames`; 0 has no end.

        `then` is called at the end, by default `settle`. `counter` is the first value of the action state counter, and
        `rate` its increment per frame. An action that continues another one keeps its instance id.
        """
        self.state, self.mode = state, mode
        self.counter, self.rate, self.age = counter, rate, 0
        self.timer, self.on_timer = frames, then or self.settle
        self.l_cancel = 0
        if new_instance:
            self.instance = next(self._instances) & 0xFFFF
        if mode not in (Mode.BUSY, Mode.BUSY_AIR):
            self.move = None

    def settle(self) -> None:
        """End the current action: stand or fall."""
        if self.grounded:
            self.enter(states.WAIT, Mode.GROUND)
        else:
            self.enter(states.FALL, Mode.AIR)

    def leave_ground(self) -> None:
        """Become airborne, with one jump left."""
        self.grounded = False
        self.jumps = 1

    def stun(self, state: int, knockback: float, angle_radians: float, hitstun: int) -> None:
        """Be launched: `knockback` in the game's units, the angle counted from the right, `hitstun` in frames."""
        speed = knockback * _STUN_SPEED
        self.speed_x = self.speed_y = 0.0
        self.knock_x, self.knock_y = speed * math.cos(angle_radians), speed * math.sin(angle_radians)
        self.tumbles = knockback >= 80
        self.hitstun = max(1, hitstun)
        self.fast_falling = False
        if self.knock_y > 0.01:
            self.leave_ground()
        self.enter(state, Mode.STUN, counter=1.0)

    def die(self) -> None:
        """Die beyond a blast line. The stock is lost immediately, or when the star goes out in a star KO."""
        left, right, _, bottom = self.stage.blast
        self.speed_x = self.speed_y = self.knock_x = self.knock_y = 0.0
        self.hitstun = self.hitlag = 0
        if left < self.x < right and self.y > bottom:
            self.enter(states.DEAD_UP_STAR, Mode.DEAD, STAR_FRAMES, self._reborn)
            return
        state = states.DEAD_LEFT if self.x <= left else states.DEAD_RIGHT if self.x >= right else states.DEAD_DOWN
        self.enter(state, Mode.DEAD, DEAD_FRAMES, self._reborn, counter=-1.0, rate=0.0)
        self.lose_stock()

    def lose_stock(self) -> None:
        """Lose a stock. Followers do not have stocks."""
        if not self.follower:
            self.stocks -= 1

    def _reborn(self) -> None:
        """Return with the next stock. Followers are gone until their leader returns."""
        if self.stocks <= 0 or self.follower:
            self.enter(self.state, Mode.GONE)
        else:
            self.return_to_play()

    def return_to_play(self) -> None:
        """Begin to descend on the rebirth platform."""
        self.x, self.y = (5.0 if self.follower else 0.0), self.stage.rebirth[0]
        self.percent = 0.0
        self.grounded, self.ground_id, self.jumps = False, _NO_GROUND, 1
        self.shield = FULL_SHIELD
        self.last_attack, self.last_hit_by, self.combo, self.instance_hit_by = 0, NOT_HIT, 0, 0
        self.invulnerable = _REBIRTH_INVULNERABLE_FRAMES
        self.enter(states.REBIRTH, Mode.REBIRTH, REBIRTH_FRAMES, self._rebirth_wait)

    def _rebirth_wait(self) -> None:
        self.enter(states.REBIRTH_WAIT, Mode.REBIRTH, _REBIRTH_WAIT_FRAMES)

    def drive(self) -> None:
        """Change the self-induced speed: walking, drifting, friction, gravity."""
        if self.grounded:
            self._drive_on_ground()
        elif self.mode is Mode.AIR_DODGE:
            self.speed_x *= _AIR_DODGE_DECAY
            self.speed_y *= _AIR_DODGE_DECAY
        elif self.mode is not Mode.RECOVERY:
            self._drive_in_air()

    def _drive_in_air(self) -> None:
        character = self.character
        if self.mode in _DRIFTING:
            target_speed = self.command.x * character.air_speed
            self.speed_x += max(-character.air_accel, min(character.air_accel, target_speed - self.speed_x))
        else:
            self.speed_x *= _STUN_DECAY
        if self.fast_falling:
            self.speed_y = -character.fast_fall
        else:
            self.speed_y = max(-character.fall, self.speed_y - character.gravity)

    def _drive_on_ground(self) -> None:
        character = self.character
        self.speed_y = 0.0
        if self.state == states.DASH:
            self.speed_x = self.facing * character.dash
        elif self.state == states.RUN:
            self.speed_x = self.facing * character.run
        elif self.state in (states.WALK_SLOW, states.WALK_FAST):
            self.speed_x = self.facing * character.walk * abs(self.command.x)
        elif self.state not in _ROLLS or self.age > _ROLL_FRAMES:
            self.speed_x -= max(-character.friction, min(character.friction, self.speed_x))

    def travel(self, surfaces: Sequence[Platform], held_ledges: frozenset[float]) -> None:
        """Move for one frame.

        `surfaces` begins with the floor; `held_ledges` are the sides (1 right, -1 left) of ledges that others hold.
        """
        self._decay_knockback()
        if self.grounded:
            self._slide(surfaces)
        else:
            self._fly(surfaces, held_ledges)

    def _decay_knockback(self) -> None:
        speed = math.hypot(self.knock_x, self.knock_y)
        factor = max(0.0, speed - _KNOCKBACK_DECAY) / speed if speed else 0.0
        self.knock_x *= factor
        self.knock_y *= factor

    def _slide(self, surfaces: Sequence[Platform]) -> None:
        ground = next((s for s in surfaces if s.ground_id == self.ground_id), surfaces[0])
        self.x += self.speed_x + self.knock_x
        self.y = ground.y
        if ground.left <= self.x <= ground.right:
            return
        if self.mode is Mode.STUN:
            self.leave_ground()
        elif ground is surfaces[0] or self.mode in (Mode.SHIELD, Mode.HOLD, Mode.DOWN):
            # Characters stop at the edge of the floor: bots never fall off on purpose.
            self.x = max(ground.left, min(ground.right, self.x))
            self.speed_x = self.knock_x = 0.0
        else:
            self.leave_ground()
            self.enter(states.FALL, Mode.AIR)

    def _fly(self, surfaces: Sequence[Platform], held_ledges: frozenset[float]) -> None:
        before = self.y
        rise = self.speed_y + self.knock_y
        self.x += self.speed_x + self.knock_x
        self.y += rise
        floor = surfaces[0]
        if rise <= 0:
            passes_platforms = self.command.verb is Verb.DROP or self.mode is Mode.RECOVERY
            for surface in surfaces:
                if surface is not floor and (passes_platforms or surface.ground_id == self.dropped_through):
                    continue
                if before >= surface.y >= self.y and surface.left <= self.x <= surface.right:
                    self._land(surface)
                    return
        if self.y < floor.y - 0.5 and floor.left < self.x < floor.right:
            # The floor has walls below it.
            self.x = floor.left if self.x < 0 else floor.right
        self._maybe_catch_ledge(rise, held_ledges)

    def _maybe_catch_ledge(self, rise: float, held_ledges: frozenset[float]) -> None:
        if self.mode not in _CATCHING or self.ledge_wait or (rise > 0 and self.mode is not Mode.RECOVERY):
            return
        side = 1.0 if self.x > 0 else -1.0
        beyond = abs(self.x) - self.stage.edge
        above = self.y - self.stage.floor.y
        if side not in held_ledges and -1.0 <= beyond <= _LEDGE_REACH and _LEDGE_MIN_Y <= above <= _LEDGE_MAX_Y:
            self._hang(side)

    def _hang(self, side: float) -> None:
        self.x, self.y = side * (self.stage.edge + HANG_X), self.stage.floor.y + _HANG_Y
        self.facing = -side
        self.speed_x = self.speed_y = self.knock_x = self.knock_y = 0.0
        self.jumps = 1
        self.intangible = 37
        self.fast_falling = False
        self.enter(states.CLIFF_CATCH, Mode.LEDGE, 7, self._hang_on, counter=1.0)

    def _hang_on(self) -> None:
        self.enter(states.CLIFF_WAIT, Mode.LEDGE)

    def _land(self, surface: Platform) -> None:
        mode, move = self.mode, self.move
        speed = self.speed_x + self.knock_x
        self.y, self.grounded, self.ground_id, self.jumps = surface.y, True, surface.ground_id, 2
        self.speed_x, self.speed_y, self.knock_x, self.knock_y = speed, 0.0, 0.0, 0.0
        self.fast_falling, self.dropped_through = False, None
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
        cancelled = self.l_pressed > 0
        lag = move.landing_lag // 2 if cancelled else move.landing_lag
        state = states.LANDING_AIR_N + move.state - states.ATTACK_AIR_N
        self.enter(state, Mode.BUSY, lag, rate=2.0 if cancelled else 1.0, new_instance=False)
        self.move = None
        self.l_cancel = 1 if cancelled else 2

    def _land_tumbling(self, speed: float) -> None:
        self.hitstun = 0
        command = self.command
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

    def _lie(self) -> None:
        self.enter(states.DOWN_WAIT_U, Mode.DOWN)
