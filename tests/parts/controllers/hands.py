"""Synthetic players: hands on analog sticks, boxes that follow the rules or not, and replays with their inputs.

An analog hand moves smoothly and holds no point exactly. A box jumps between a few points; a legal one shows a point of
its travel in about half of the jumps, and its targets vary by -1, 0 or 1 with 1:2:1.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import msgspec
from msgspec.structs import replace

from slpstream.formats.slippi.commands import PRE_FRAME
from slpstream.formats.slippi.framing import event_payloads_of, walk_events
from tests.synthetic.match import synthetic_match

FRAMES = 6000
FIRST = -123
_OFFSETS = {field.name: field.offset for field in PRE_FRAME.fields}

Point = tuple[int, int]


class Inputs(msgspec.Struct, frozen=True):
    """The inputs of one frame, as raw values. Change them with `replace`."""

    stick: Point = (0, 0)
    c_stick: Point = (0, 0)
    left: int = 0
    right: int = 0
    buttons: int = 0


Player = Sequence[Inputs]


def moved(dx: int, dy: int, number: int, point: Point) -> Point:
    """A change of all points, for `analog`: the stick is off centre."""
    return point[0] + dx, point[1] + dy


def analog(
    seed: int, frames: int = FRAMES, *, rim: int = 100, change: Callable[[int, Point], Point] | None = None
) -> Player:
    """A hand on a healthy analog stick. `change` gets the number of each frame and its point."""
    rng = random.Random(seed)
    points = list(_hand(rng, frames, rim))[:frames]
    if change is not None:
        points = [change(FIRST + i, point) for i, point in enumerate(points)]
    return [replace(_fingers(i), stick=point) for i, point in enumerate(points)]


def _hand(rng: random.Random, frames: int, rim: int) -> Iterator[Point]:
    x = y = 0.0
    made = 0
    while made < frames:
        rests = rng.random() < 0.3
        angle = rng.choice((0, 0, 90, 180, 180, 270, 270)) + rng.gauss(0, 12)
        radius = 0.0 if rests else rim * (1 if rng.random() < 0.7 else rng.uniform(0.2, 0.9))
        aim = (radius * math.cos(math.radians(angle)), radius * math.sin(math.radians(angle)))
        steps = rng.randint(4, 8)
        for step in range(1, steps + 1):
            share = (1 - math.cos(math.pi * step / steps)) / 2
            yield round(x + (aim[0] - x) * share), round(y + (aim[1] - y) * share)
        x, y = aim
        held = rng.randint(25, 60) if rests else rng.randint(2, 14)
        for _ in range(held):
            shake = 0 if rests else rng.choice((-1, 0, 0, 0, 1))
            yield round(x) + shake, round(y) + shake
        made += steps + held


def box(seed: int, frames: int = FRAMES, *, travel: bool = True, fuzz: bool = True) -> Player:
    """A box, which follows the rules by default."""
    rng = random.Random(seed)
    return [replace(_fingers(i), stick=point) for i, point in enumerate(_keys(rng, frames, travel, fuzz))]


_TARGETS: Sequence[Point] = (
    (80, 0),
    (-80, 0),
    (0, -80),
    (0, 80),
    (56, 56),
    (-56, 56),
    (56, -57),
    (-53, 0),
    (53, 0),
    (0, 0),
)


def _keys(rng: random.Random, frames: int, travel: bool, fuzz: bool) -> Iterator[Point]:
    now = (0, 0)
    made = 0
    while made < frames:
        aim = rng.choice([target for target in _TARGETS if target != now])
        there = tuple(v + rng.choice((-1, 0, 0, 1)) if fuzz and v else v for v in aim)
        if travel and rng.random() < 0.5:
            share = rng.uniform(0.2, 0.8)
            yield round(now[0] + (there[0] - now[0]) * share), round(now[1] + (there[1] - now[1]) * share)
            made += 1
        held = rng.randint(6, 16) if any(there) else rng.randint(6, 40)
        yield from [(there[0], there[1])] * held
        made += held
        now = (there[0], there[1])


def _fingers(frame: int) -> Inputs:
    """An occasionally pressed trigger, and a tapped button."""
    pressed = frame % 97 < 9
    return Inputs(left=140 if frame % 211 < 12 else 0, buttons=0x100 if pressed else 0)


def with_inputs(players: Mapping[int, Player], *, version: tuple[int, int, int] = (3, 18, 0)) -> bytes:
    """A replay with these inputs, by player index."""
    data = bytearray(_base(version))
    found = event_payloads_of(bytes(data))
    assert found is not None
    widths = found[0].widths
    for command, at, _ in walk_events(bytes(data), found[1], len(data), widths):
        if command != PRE_FRAME.command:
            continue
        number, index, is_follower = struct.unpack_from(">iB?", data, at + 1)
        if index in players and not is_follower:
            inputs = players[index][min(number - FIRST, len(players[index]) - 1)]
            for name, code, value in _fields(inputs):
                if _OFFSETS[name] < widths[command]:
                    struct.pack_into(f">{code}", data, at + _OFFSETS[name], value)
    return bytes(data)


def _fields(inputs: Inputs) -> Iterator[tuple[str, str, float]]:
    yield "raw_joystick_x", "b", inputs.stick[0]
    yield "raw_joystick_y", "b", inputs.stick[1]
    yield "raw_c_stick_x", "b", inputs.c_stick[0]
    yield "raw_c_stick_y", "b", inputs.c_stick[1]
    yield "c_stick_x", "f", max(-1.0, min(1.0, inputs.c_stick[0] / 80))
    yield "c_stick_y", "f", max(-1.0, min(1.0, inputs.c_stick[1] / 80))
    yield "physical_l_trigger", "f", inputs.left / 140
    yield "physical_r_trigger", "f", inputs.right / 140
    yield "physical_buttons", "H", inputs.buttons


@cache
def _base(version: tuple[int, int, int]) -> bytes:
    return synthetic_match(version=version, seed=3, frames=FRAMES, players=3)
