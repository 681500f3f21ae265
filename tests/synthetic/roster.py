"""The characters: their movement and attacks.

The numbers are close to the game's published frame data, with speeds in game units per frame and times in frames. Each
move is simplified to one hitbox, a rectangle in front of the character that is the same for all its active frames. That
is enough for matches in which openings, combos and kills look plausible; it is not a simulation of the game.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.synthetic import states


class Move(NamedTuple):
    """An attack or throw.

    `move_id` is an id of `ids.MOVES`. The attack hits in the frames `first` to `last` of `total`; for a throw, `first`
    is the frame of the release. `angle` is in degrees, where 361 stands for an angle that depends on the knockback, and
    `base` and `growth` are parameters of the knockback formula. The hitbox extends from `back` to `front` in the
    direction that the character faces and from `low` to `high` above its feet, in game units. An L-cancel halves the
    `landing_lag` of an aerial. After `rehit_frames` the move can hit the same victim again; 0 means never.
    """

    name: str
    move_id: int
    state: int
    first: int
    last: int
    total: int
    damage: float
    angle: int
    base: float
    growth: float
    front: float
    back: float
    low: float
    high: float
    landing_lag: int = 0
    rehit_frames: int = 0


class Recovery(NamedTuple):
    """The special move for returning to the stage: a start-up, then a flight at `speed`. States are by name."""

    start_state: str
    start_frames: int
    flight_state: str
    flight_frames: int
    speed: float


class Character(NamedTuple):
    """A character. Speeds are in game units per frame; `laser_type` is the item type of its lasers, if it has any."""

    external_id: int
    internal_id: int
    weight: float
    gravity: float
    fall: float
    fast_fall: float
    air_speed: float
    air_accel: float
    friction: float
    walk: float
    dash: float
    run: float
    jump: float
    short_hop: float
    double_jump: float
    jump_squat: int
    recovery: Recovery
    moves: dict[str, Move]
    laser_type: int | None = None


def _kit(*moves: Move) -> dict[str, Move]:
    return {move.name: move for move in moves}


_PUMMEL = Move("pummel", 52, states.CATCH_ATTACK, 6, 6, 20, 3, 0, 0, 0, 0, 0, 0, 0)

_FOX_MOVES = _kit(
    Move("jab", 2, 0x2C, 2, 3, 17, 4, 70, 8, 50, 14, 2, 3, 12),
    Move("dash", 6, 0x32, 4, 14, 36, 7, 72, 35, 90, 12, -2, 0, 12),
    Move("ftilt", 7, 0x35, 5, 8, 26, 9, 361, 5, 100, 18, 2, 2, 11),
    Move("utilt", 8, 0x38, 5, 11, 23, 9, 96, 20, 135, 10, -10, 2, 24),
    Move("dtilt", 9, 0x39, 7, 9, 29, 10, 80, 25, 125, 18, 2, 0, 7),
    Move("fsmash", 10, 0x3C, 12, 20, 39, 17, 361, 20, 105, 20, 0, 2, 14),
    Move("usmash", 11, 0x3F, 7, 15, 41, 18, 82, 30, 116, 12, -10, 2, 27),
    Move("dsmash", 12, 0x40, 6, 10, 49, 15, 28, 25, 68, 18, -18, 0, 9),
    Move("nair", 13, 0x41, 4, 30, 42, 12, 361, 10, 100, 9, -7, -3, 13, 15),
    Move("fair", 14, 0x42, 6, 34, 53, 5, 361, 8, 90, 12, -2, 0, 14, 22, 9),
    Move("bair", 15, 0x43, 4, 18, 38, 15, 361, 10, 106, 3, -15, 1, 13, 20),
    Move("uair", 16, 0x44, 8, 14, 36, 13, 86, 40, 112, 8, -8, 8, 27, 18),
    Move("dair", 17, 0x45, 5, 24, 49, 2.4, 290, 20, 90, 6, -6, -7, 6, 18, 4),
    _PUMMEL,
    Move("fthrow", 53, states.THROW_F, 11, 11, 33, 7, 45, 55, 110, 0, 0, 0, 0),
    Move("bthrow", 54, states.THROW_B, 10, 10, 33, 6, 124, 80, 85, 0, 0, 0, 0),
    Move("uthrow", 55, states.THROW_HI, 7, 7, 33, 8, 90, 75, 108, 0, 0, 0, 0),
    Move("dthrow", 56, states.THROW_LW, 33, 33, 43, 5, 80, 60, 50, 0, 0, 0, 0),
)

_FALCO_MOVES = _FOX_MOVES | _kit(
    Move("fsmash", 10, 0x3C, 16, 20, 39, 17, 361, 20, 100, 21, 0, 2, 14),
    Move("usmash", 11, 0x3F, 7, 15, 41, 14, 80, 25, 105, 12, -10, 2, 27),
    Move("bair", 15, 0x43, 4, 18, 38, 15, 361, 8, 104, 3, -16, 1, 13, 20),
    Move("dair", 17, 0x45, 5, 24, 49, 12, 290, 20, 100, 8, -7, -8, 8, 18),
)

_MARTH_MOVES = _kit(
    Move("jab", 2, 0x2C, 4, 7, 19, 5, 60, 25, 50, 22, 0, 3, 16),
    Move("dash", 6, 0x32, 12, 15, 40, 11, 70, 60, 70, 22, 0, 2, 14),
    Move("ftilt", 7, 0x35, 7, 10, 31, 12, 361, 40, 70, 25, 2, 3, 16),
    Move("utilt", 8, 0x38, 6, 12, 31, 11, 100, 40, 110, 16, -16, 4, 30),
    Move("dtilt", 9, 0x39, 7, 9, 19, 10, 32, 45, 42, 24, 2, 0, 6),
    Move("fsmash", 10, 0x3C, 10, 13, 47, 20, 361, 70, 78, 29, 2, 2, 20),
    Move("usmash", 11, 0x3F, 13, 16, 54, 17, 89, 45, 90, 9, -9, 6, 36),
    Move("dsmash", 12, 0x40, 5, 7, 61, 15, 50, 40, 75, 24, -22, 0, 7),
    Move("nair", 13, 0x41, 6, 21, 49, 9, 60, 30, 80, 18, -14, 2, 18, 15),
    Move("fair", 14, 0x42, 4, 7, 33, 13, 58, 40, 76, 22, 0, 1, 22, 15),
    Move("bair", 15, 0x43, 7, 11, 39, 13, 361, 40, 78, 0, -22, 1, 20, 24),
    Move("uair", 16, 0x44, 5, 8, 45, 12, 80, 40, 80, 12, -14, 8, 32, 15),
    Move("dair", 17, 0x45, 6, 9, 59, 12, 290, 40, 70, 12, -12, -14, 8, 32),
    _PUMMEL,
    Move("fthrow", 53, states.THROW_F, 13, 13, 27, 4, 60, 45, 45, 0, 0, 0, 0),
    Move("bthrow", 54, states.THROW_B, 7, 7, 31, 4, 130, 55, 40, 0, 0, 0, 0),
    Move("uthrow", 55, states.THROW_HI, 12, 12, 44, 4, 93, 60, 105, 0, 0, 0, 0),
    Move("dthrow", 56, states.THROW_LW, 11, 11, 43, 5, 110, 65, 40, 0, 0, 0, 0),
)

_FALCON_MOVES = _kit(
    Move("jab", 2, 0x2C, 3, 5, 21, 4, 70, 10, 60, 16, 2, 3, 14),
    Move("dash", 6, 0x32, 7, 16, 38, 10, 75, 70, 60, 14, -2, 0, 14),
    Move("ftilt", 7, 0x35, 9, 11, 29, 11, 361, 10, 96, 20, 2, 2, 13),
    Move("utilt", 8, 0x38, 17, 19, 39, 13, 280, 20, 90, 20, 0, 2, 26),
    Move("dtilt", 9, 0x39, 10, 12, 35, 12, 75, 25, 80, 20, 2, 0, 8),
    Move("fsmash", 10, 0x3C, 19, 21, 59, 20, 361, 25, 100, 25, 2, 2, 15),
    Move("usmash", 11, 0x3F, 22, 28, 50, 17, 88, 35, 98, 14, -10, 4, 30),
    Move("dsmash", 12, 0x40, 19, 23, 49, 18, 70, 40, 90, 20, -18, 0, 10),
    Move("nair", 13, 0x41, 7, 29, 44, 7, 361, 20, 90, 14, -8, 0, 14, 15, 10),
    Move("fair", 14, 0x42, 14, 30, 39, 16, 32, 24, 103, 11, -1, 0, 13, 19),
    Move("bair", 15, 0x43, 10, 18, 35, 14, 361, 10, 102, 2, -18, 1, 15, 18),
    Move("uair", 16, 0x44, 6, 12, 33, 13, 66, 25, 95, 14, -14, 6, 28, 15),
    Move("dair", 17, 0x45, 16, 20, 44, 16, 270, 20, 100, 8, -8, -8, 8, 24),
    _PUMMEL,
    Move("fthrow", 53, states.THROW_F, 15, 15, 37, 9, 40, 65, 60, 0, 0, 0, 0),
    Move("bthrow", 54, states.THROW_B, 12, 12, 39, 9, 140, 65, 60, 0, 0, 0, 0),
    Move("uthrow", 55, states.THROW_HI, 14, 14, 39, 7, 86, 70, 105, 0, 0, 0, 0),
    Move("dthrow", 56, states.THROW_LW, 17, 17, 44, 7, 65, 75, 34, 0, 0, 0, 0),
)

_CLIMBER_MOVES = _kit(
    Move("jab", 2, 0x2C, 4, 6, 22, 3, 70, 10, 50, 16, 2, 3, 12),
    Move("dash", 6, 0x32, 10, 15, 38, 8, 60, 60, 60, 15, -2, 0, 12),
    Move("ftilt", 7, 0x35, 9, 12, 33, 9, 361, 10, 95, 18, 2, 2, 11),
    Move("utilt", 8, 0x38, 8, 16, 41, 7, 85, 30, 110, 9, -9, 6, 25),
    Move("dtilt", 9, 0x39, 8, 9, 27, 7, 50, 25, 80, 18, 2, 0, 7),
    Move("fsmash", 10, 0x3C, 12, 15, 43, 16, 361, 30, 104, 22, 2, 1, 16),
    Move("usmash", 11, 0x3F, 9, 14, 41, 13, 85, 35, 102, 14, -14, 4, 26),
    Move("dsmash", 12, 0x40, 8, 13, 41, 13, 55, 40, 70, 18, -18, 0, 9),
    Move("nair", 13, 0x41, 6, 19, 45, 9, 361, 15, 100, 13, -12, 0, 14, 20),
    Move("fair", 14, 0x42, 18, 20, 49, 12, 290, 30, 85, 16, 0, 0, 18, 20),
    Move("bair", 15, 0x43, 8, 12, 38, 12, 361, 15, 100, 2, -17, 1, 14, 20),
    Move("uair", 16, 0x44, 6, 14, 42, 9, 85, 35, 100, 8, -8, 8, 26, 32),
    Move("dair", 17, 0x45, 8, 30, 50, 6, 60, 25, 70, 6, -6, -8, 6, 25, 12),
    _PUMMEL,
    Move("fthrow", 53, states.THROW_F, 12, 12, 35, 6, 45, 60, 60, 0, 0, 0, 0),
    Move("bthrow", 54, states.THROW_B, 12, 12, 35, 8, 135, 60, 60, 0, 0, 0, 0),
    Move("uthrow", 55, states.THROW_HI, 12, 12, 35, 6, 88, 65, 90, 0, 0, 0, 0),
    Move("dthrow", 56, states.THROW_LW, 20, 20, 45, 6, 65, 60, 40, 0, 0, 0, 0),
)

_FIRE_FOX = Recovery("SpecialAirHiStart", 42, "SpecialAirHi", 30, 3.8)
_DOLPHIN_SLASH = Recovery("SpecialAirHi", 5, "SpecialAirHi", 16, 4.2)
_FALCON_DIVE = Recovery("SpecialAirHi", 14, "SpecialAirHi", 26, 2.6)
_FARORES_WIND = Recovery("SpecialAirHiStart_0", 34, "SpecialAirHiStart_1", 20, 5.0)
_VANISH = Recovery("SpecialAirHiStart_0", 35, "SpecialAirHiStart_1", 20, 4.5)
_BELAY = Recovery("SpecialAirHiStart_0", 20, "SpecialAirHiThrow_0", 24, 3.2)

FOX = Character(
    2, 1, 75, 0.23, 2.8, 3.4, 0.83, 0.08, 0.08, 1.2, 2.02, 2.2, 3.68, 2.1, 4.1, 3, _FIRE_FOX, _FOX_MOVES, 0x36
)
MARTH = Character(
    9, 18, 87, 0.085, 2.2, 2.5, 0.9, 0.05, 0.06, 1.3, 1.5, 1.8, 2.4, 1.5, 2.1, 4, _DOLPHIN_SLASH, _MARTH_MOVES
)
FALCO = Character(
    20, 22, 80, 0.17, 3.1, 3.5, 0.83, 0.07, 0.08, 1.1, 1.9, 1.5, 4.1, 1.9, 3.8, 5, _FIRE_FOX, _FALCO_MOVES, 0x37
)
FALCON = Character(
    0, 2, 104, 0.13, 2.9, 3.5, 1.12, 0.06, 0.08, 0.85, 2.0, 2.3, 3.1, 1.9, 2.8, 4, _FALCON_DIVE, _FALCON_MOVES
)
POPO = Character(14, 10, 88, 0.1, 1.6, 2.0, 0.7, 0.04, 0.035, 1.0, 1.4, 1.4, 2.5, 1.6, 2.3, 3, _BELAY, _CLIMBER_MOVES)
NANA = POPO._replace(internal_id=11)
ZELDA = Character(
    18, 19, 90, 0.073, 1.4, 1.85, 0.84, 0.04, 0.1, 0.7, 1.1, 1.1, 2.5, 1.6, 2.1, 6, _FARORES_WIND, _MARTH_MOVES
)
SHEIK = Character(19, 7, 90, 0.12, 2.13, 3.0, 0.8, 0.06, 0.08, 1.2, 1.7, 1.8, 2.8, 2.1, 2.8, 3, _VANISH, _FOX_MOVES)
OTHER_FORM = {ZELDA.internal_id: SHEIK, SHEIK.internal_id: ZELDA}
"""The character that a character transforms into, by internal id."""

LINE_UP = (FOX, MARTH, FALCO, FALCON)
"""The default characters, by player index."""
