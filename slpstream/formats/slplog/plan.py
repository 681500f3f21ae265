"""Plan 1 describes the columns of the events of a frame, their order, and how each of them is predicted.

Since the plan is part of the `.slplog` format, it never changes. If we wanted other columns, this would be a plan with
another number. It only depends on the declared width of an event: if a column extends past it, it is absent, and each
byte that isn't part of any column becomes a column itself. All offsets count from the command byte.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from slpstream.formats.slplog import predict
from slpstream.formats.slplog.rows import Bits, Column, Delta, Float, Grid, Method, Rows, Same, Stepped

PLAN = 1

PRE, POST, START, ITEM, BOOKEND, PLATFORM, WHISPY, STADIUM = 0x37, 0x38, 0x3A, 0x3B, 0x3C, 0x3F, 0x40, 0x41
FRAMED_BYTES = 5
"""Command byte and frame number, with which the `FRAMED` events begin."""
PLAYER_BYTES = 7
"""The same with player index and follower flag, in the `PLAYERS` events."""
PLAYERS = frozenset({PRE, POST})
FRAMED = frozenset({PRE, POST, START, ITEM, BOOKEND, PLATFORM, WHISPY, STADIUM})
SEED_AT = {START: 5, PRE: 7}
"""Offsets of random seeds. All seeds of a block are one column, in the order of the file."""
IDENTITY_AT = {ITEM: (0x22, 4), PLATFORM: (0x5, 1)}
"""Offset and width of the field that identifies an item or platform. It is coded first, against the row before."""

_STATE, _COUNTER, _HITLAG, _AIRBORNE = 0x08, 0x22, 0x49, 0x2F
_AIR_X, _SPEED_Y, _ATTACK_X, _ATTACK_Y, _GROUND_X = 0x35, 0x39, 0x3D, 0x41, 0x45
_RAW_X, _RAW_Y, _RAW_CX, _RAW_CY = 0x3B, 0x40, 0x41, 0x42
_JOY_X, _JOY_Y, _C_X, _C_Y, _TRIGGER = 0x19, 0x1D, 0x21, 0x25, 0x29
_BUTTONS, _PHYSICAL, _LEFT, _RIGHT = 0x2D, 0x31, 0x33, 0x37

_STICKS, _TRIGGERS = predict.STICK_GRID, predict.TRIGGER_GRID
_MIN_TRIGGER, _FULL_TRIGGER, _DIGITAL = 43, 140, 0x60
_JOY_UP, _C_UP, _TRIGGERED = 1 << 16, 1 << 20, 1 << 31


def _parent(row: int, parent: int, grand: int) -> int:
    return parent


def _always(step: predict.Step) -> Stepped:
    return Stepped(lambda rows: step)


def _position(ground: int, air: int, attack: int) -> Stepped:
    """Return how to predict the position of a player.

    We use the speeds if the event has them, and otherwise a straight line.
    """

    def step_of(rows: Rows) -> predict.Step:
        ground_speeds, air_speeds, attack_speeds = rows.column(ground), rows.column(air), rows.column(attack)
        airborne = rows.column(_AIRBORNE)
        if ground_speeds is None or air_speeds is None or attack_speeds is None or airborne is None:
            return predict.straight
        speeds = [a if flying else g for a, g, flying in zip(air_speeds, ground_speeds, airborne, strict=True)]
        return predict.moved((speeds, attack_speeds), rows.column(_HITLAG))

    return Stepped(step_of)


def _drift(speed: int) -> Stepped:
    """Return how to predict the position of an item, which depends on its speed."""
    return Stepped(lambda rows: predict.moved((rows.values[speed],), None))


def _state_counter(rows: Rows) -> predict.Step:
    states = rows.values[_STATE]
    return predict.counted(states, predict.parents_of(states, rows.parents))


def _ground_speed(rows: Rows) -> list[int]:
    """Predict the ground speed. On the ground, it is the same as the air speed, and in the air, it is 0."""
    air, airborne = rows.values[_AIR_X], rows.values[_AIRBORNE]
    return [0 if flying else speed for speed, flying in zip(air, airborne, strict=True)]


def _stick(raw_x: int, raw_y: int, axis: int, *, alone: bool = False) -> Grid:
    """Return how to predict an axis of a stick, which works if the event has the raw stick.

    With `alone`, x is enough.
    """

    def guess(rows: Rows) -> list[int]:
        x, y = rows.column(raw_x), rows.column(raw_y)
        if x is None or (y is None and not alone):
            return [0] * rows.count
        both = zip(x, y, strict=True) if y is not None else ((value, 0) for value in x)
        return [predict.stick(*raw)[axis] & 0xFF for raw in both]

    return Grid(_STICKS, guess)


def _codes(rows: Rows, offset: int, grid: predict.GridOf) -> list[int]:
    codes = grid.code_of
    return [codes.get(value, 0) for value in rows.values[offset]]


def _trigger(rows: Rows) -> list[int]:
    """Predict the trigger, which is the larger of the two physical triggers, or the maximum if L or R is pressed."""
    clicks = rows.column(_PHYSICAL)
    if clicks is None or rows.column(_RIGHT) is None:
        return [0] * rows.count
    left, right = _codes(rows, _LEFT, _TRIGGERS), _codes(rows, _RIGHT, _TRIGGERS)
    deepest = map(max, left, right)
    return [
        _FULL_TRIGGER if click & _DIGITAL else depth if depth >= _MIN_TRIGGER else 0
        for click, depth in zip(clicks, deepest, strict=True)
    ]


def _buttons(rows: Rows) -> list[int]:
    """Predict the processed buttons from the physical buttons, the directions of the sticks, and the trigger."""
    physical = rows.column(_PHYSICAL)
    if physical is None:
        return [0] * rows.count
    directions = [
        [predict.direction(x, y, up) for x, y in zip(_codes(rows, *a), _codes(rows, *b), strict=True)]
        for a, b, up in (
            ((_JOY_X, _STICKS), (_JOY_Y, _STICKS), _JOY_UP),
            ((_C_X, _STICKS), (_C_Y, _STICKS), _C_UP),
        )
    ]
    pressed = [_TRIGGERED if code >= _MIN_TRIGGER else 0 for code in _codes(rows, _TRIGGER, _TRIGGERS)]
    return [a | b | c | d for a, b, c, d in zip(physical, *directions, pressed, strict=True)]


def _previous_post(offset: int) -> Float:
    return Float(lambda rows: rows.previous_post(offset))


def _previous_post_bits(offset: int) -> Bits:
    return Bits(lambda rows: rows.previous_post(offset))


_SAME, _CONSTANT = Same(), _always(_parent)

_COLUMNS: dict[int, tuple[tuple[int, int, Method], ...]] = {
    POST: (
        (0x07, 1, _SAME),  # internal character id
        (_STATE, 2, _SAME),
        (0x12, 4, _SAME),  # facing direction
        (0x16, 4, _CONSTANT),  # percent
        (0x1A, 4, _CONSTANT),  # shield size
        (0x1E, 1, _SAME),  # last attack landed
        (0x1F, 1, _SAME),  # current combo count
        (0x20, 1, _SAME),  # last hit by
        (0x21, 1, _SAME),  # stocks remaining
        (_COUNTER, 4, Stepped(_state_counter)),
        (0x26, 1, _SAME),  # state flags 1 to 5
        (0x27, 1, _SAME),
        (0x28, 1, _SAME),
        (0x29, 1, _SAME),
        (0x2A, 1, _SAME),
        (0x2B, 4, _always(predict.countdown)),  # misc action state: the rest of hitstun
        (_AIRBORNE, 1, _SAME),
        (0x30, 2, _SAME),  # last ground id
        (0x32, 1, _SAME),  # jumps remaining
        (0x33, 1, _SAME),  # L-cancel status
        (0x34, 1, _SAME),  # hurtbox collision state
        (_AIR_X, 4, _always(predict.linear)),
        (_SPEED_Y, 4, _always(predict.linear)),
        (_ATTACK_X, 4, _always(predict.linear)),
        (_ATTACK_Y, 4, _always(predict.linear)),
        (_GROUND_X, 4, Float(_ground_speed)),
        (_HITLAG, 4, _always(predict.countdown)),
        (0x4D, 4, _SAME),  # animation index
        (0x51, 2, _SAME),  # instance hit by
        (0x53, 2, Delta()),  # instance id
        (0x0A, 4, _position(_GROUND_X, _AIR_X, _ATTACK_X)),
        (0x0E, 4, _position(_SPEED_Y, _SPEED_Y, _ATTACK_Y)),
    ),
    PRE: (
        (0x0B, 2, _previous_post_bits(_STATE)),
        (0x0D, 4, _previous_post(0x0A)),
        (0x11, 4, _previous_post(0x0E)),
        (0x15, 4, _previous_post(0x12)),
        (0x3C, 4, _previous_post(0x16)),
        (_RAW_X, 1, Delta()),
        (_RAW_Y, 1, Delta()),
        (_RAW_CX, 1, Delta()),
        (_RAW_CY, 1, Delta()),
        (_JOY_X, 4, _stick(_RAW_X, _RAW_Y, 0, alone=True)),
        (_JOY_Y, 4, _stick(_RAW_X, _RAW_Y, 1)),
        (_C_X, 4, _stick(_RAW_CX, _RAW_CY, 0)),
        (_C_Y, 4, _stick(_RAW_CX, _RAW_CY, 1)),
        (_PHYSICAL, 2, _SAME),
        (_LEFT, 4, Grid(_TRIGGERS)),
        (_RIGHT, 4, Grid(_TRIGGERS)),
        (_TRIGGER, 4, Grid(_TRIGGERS, _trigger)),
        (_BUTTONS, 4, Bits(_buttons)),
    ),
    START: ((0x9, 4, Delta(1)),),  # scene frame counter
    ITEM: (
        (0x05, 2, _SAME),  # type id
        (0x07, 1, _SAME),  # state
        (0x08, 4, _SAME),  # facing direction
        (0x0C, 4, _always(predict.linear)),
        (0x10, 4, _always(predict.linear)),
        (0x14, 4, _drift(0x0C)),
        (0x18, 4, _drift(0x10)),
        (0x1C, 2, _SAME),  # damage taken
        (0x1E, 4, _always(predict.straight)),  # expiration timer
        (0x26, 1, _SAME),
        (0x27, 1, _SAME),
        (0x28, 1, _SAME),
        (0x29, 1, _SAME),
        (0x2A, 1, _SAME),
        (0x2B, 2, _SAME),  # instance id
    ),
    BOOKEND: ((0x5, 4, Bits(Rows.frame_words)),),
    PLATFORM: ((0x6, 4, _always(predict.linear)),),
    WHISPY: ((0x5, 1, _SAME),),
    STADIUM: ((0x5, 2, _SAME), (0x7, 2, _SAME)),
}


@functools.lru_cache(maxsize=512)
def columns(command: int, width: int) -> Sequence[Column]:
    """Return the columns of a command's events in the order in which they are coded. `width` includes the command byte.

    The frame number, player, follower flag and seed aren't among them, because they are coded somewhere else.
    """
    found: list[Column] = []
    covered = {0}
    if command in FRAMED:
        covered.update(range(PLAYER_BYTES if command in PLAYERS and width >= PLAYER_BYTES else FRAMED_BYTES))
        if _has(command, SEED_AT, 4, width):
            covered.update(range(SEED_AT[command], SEED_AT[command] + 4))
    if command in IDENTITY_AT and sum(IDENTITY_AT[command]) <= width:
        found.append(Column(*IDENTITY_AT[command], Delta() if IDENTITY_AT[command][1] > 1 else _SAME))
        covered.update(range(found[0].offset, found[0].offset + found[0].width))
    present = {offset for offset, size, _ in _COLUMNS.get(command, ()) if offset + size <= width}
    for offset, size, method in _COLUMNS.get(command, ()):
        if offset in present:
            found.append(Column(offset, size, method))
            covered.update(range(offset, offset + size))
    found += (Column(offset, 1, _SAME) for offset in range(width) if offset not in covered)
    return tuple(found)


def has_seed(command: int, width: int) -> bool:
    """Whether the events of a command have a seed if they are `width` bytes long."""
    return _has(command, SEED_AT, 4, width)


def _has(command: int, offsets: dict[int, int], size: int, width: int) -> bool:
    return command in offsets and offsets[command] + size <= width
