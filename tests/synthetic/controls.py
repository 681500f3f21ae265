"""Commands for fighters, and the controller inputs that the replay shows for them.

A bot gives one `Command` per frame. The fighter acts on the command; the replay gets a `Pad`, the state of the
controller for that command. Buttons stay down for a few frames and are then released, so that stats which count
inputs have something to count.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

A, B, X, Y, Z, L, R, START = 0x100, 0x200, 0x400, 0x800, 0x10, 0x40, 0x20, 0x1000
QUIT = L | R | A | START
"""The four buttons that quit a match (LRAS)."""

_HELD_FRAMES = 3
_STICK_STEP = 80
_DIRECTION_THRESHOLD = 0.35
_STICK_UP, _STICK_DOWN, _STICK_LEFT, _STICK_RIGHT = 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000
_C_STICK_SHIFT = 4
_TRIGGER = 0x8000_0000


class Verb(Enum):
    """The actions that a fighter can be commanded to take; the stick of the command gives the direction."""

    REST = auto()
    WALK = auto()
    DASH = auto()
    CROUCH = auto()
    JUMP = auto()
    SHORT_HOP = auto()
    DOUBLE_JUMP = auto()
    DROP = auto()
    FAST_FALL = auto()
    ATTACK = auto()
    GRAB = auto()
    THROW = auto()
    SHIELD = auto()
    ROLL = auto()
    DODGE = auto()
    AIR_DODGE = auto()
    L_CANCEL = auto()
    LASER = auto()
    TRANSFORM = auto()
    RECOVER = auto()
    TECH = auto()
    GET_UP = auto()
    CLIMB = auto()


class Command(NamedTuple):
    """A command for one frame. `x` and `y` are the stick in [-1, 1], `move` is the name of an attack or throw."""

    verb: Verb
    x: float = 0.0
    y: float = 0.0
    move: str = ""


REST = Command(Verb.REST)


class Pad(NamedTuple):
    """The state of a controller: sticks in [-1, 1] in steps of 1/80, triggers in [0, 1], `physical` buttons."""

    stick_x: float = 0.0
    stick_y: float = 0.0
    c_x: float = 0.0
    c_y: float = 0.0
    left: float = 0.0
    right: float = 0.0
    physical: int = 0

    @property
    def trigger(self) -> float:
        """The stronger of the two triggers; a click at the bottom counts as 1."""
        return 1.0 if self.physical & (L | R) else max(self.left, self.right)

    @property
    def processed(self) -> int:
        """The game's view of the buttons: the physical ones, and bits for the sticks and the trigger."""
        bits = self.physical | _directions(self.stick_x, self.stick_y)
        bits |= _directions(self.c_x, self.c_y) << _C_STICK_SHIFT
        return bits | (_TRIGGER if self.trigger > 0 else 0)


_BUTTONS = {
    Verb.JUMP: X,
    Verb.SHORT_HOP: X,
    Verb.DOUBLE_JUMP: X,
    Verb.GRAB: Z,
    Verb.AIR_DODGE: R,
    Verb.L_CANCEL: L,
    Verb.LASER: B,
    Verb.TRANSFORM: B,
    Verb.RECOVER: B,
    Verb.TECH: R,
    Verb.DODGE: R,
    Verb.ROLL: R,
    Verb.SHIELD: R,
}
_SHIELDS = frozenset({Verb.SHIELD, Verb.ROLL, Verb.DODGE, Verb.AIR_DODGE, Verb.L_CANCEL, Verb.TECH})
_SMASHES = {"fsmash": (1.0, 0.0), "usmash": (0.0, 1.0), "dsmash": (0.0, -1.0)}
_TILTS = {"ftilt": (0.5, 0.0), "utilt": (0.0, 0.5), "dtilt": (0.0, -0.5)}
_AERIALS = {"fair": (1.0, 0.0), "bair": (-1.0, 0.0), "uair": (0.0, 1.0), "dair": (0.0, -1.0)}
_THROWS = {"fthrow": (1.0, 0.0), "bthrow": (-1.0, 0.0), "uthrow": (0.0, 1.0), "dthrow": (0.0, -1.0)}


class Controller:
    """Turns commands into pads. A button goes down with its command and stays down for a few frames."""

    def __init__(self) -> None:
        self._down = 0
        self._held_frames = 0
        self._last = REST

    def pad(self, command: Command, facing: float) -> Pad:
        """The pad in the frame of a command. `facing` is 1 to the right, -1 to the left."""
        x, y, c_x, c_y = command.x, command.y, 0.0, 0.0
        press = _BUTTONS.get(command.verb, 0)
        if command.verb is Verb.ATTACK:
            if command.move in _SMASHES:
                c_x, c_y = _SMASHES[command.move]
            elif command.move in _AERIALS:
                c_x, c_y = _AERIALS[command.move]
            else:
                x, y = _TILTS.get(command.move, (0.0, 0.0))
                x *= facing
                press = A
            c_x *= facing
        elif command.verb is Verb.THROW:
            press = A if command.move == "pummel" else 0
            x, y = _THROWS.get(command.move, (0.0, 0.0))
            x *= facing
        elif command.verb is Verb.GET_UP and x == 0.0:
            y = 1.0
        elif command.verb is Verb.TRANSFORM:
            y = -1.0
        repeated = command == self._last and command.verb is not Verb.SHIELD
        self._last = command
        if press and (not repeated or self._held_frames == 0):
            self._down, self._held_frames = press, _HELD_FRAMES
        elif self._held_frames:
            self._held_frames -= 1
        down = self._down if self._held_frames else 0
        shield = 1.0 if command.verb in _SHIELDS else 0.0
        return Pad(_step(x), _step(y), _step(c_x), _step(c_y), 0.0, shield, down)


def _step(value: float) -> float:
    return round(max(-1.0, min(1.0, value)) * _STICK_STEP) / _STICK_STEP


def _directions(x: float, y: float) -> int:
    bits = 0
    if y > _DIRECTION_THRESHOLD:
        bits |= _STICK_UP
    elif y < -_DIRECTION_THRESHOLD:
        bits |= _STICK_DOWN
    if x < -_DIRECTION_THRESHOLD:
        bits |= _STICK_LEFT
    elif x > _DIRECTION_THRESHOLD:
        bits |= _STICK_RIGHT
    return bits
