"""Synthetic replays for tests without real data."""

from __future__ import annotations

import random

from slpstream.formats.stunts.inputs import ACCELERATE, BRAKE, GEAR_DOWN, GEAR_UP, LEFT, RIGHT, InputRuns
from slpstream.formats.stunts.layout import LayoutName, StuntsReplay
from slpstream.formats.stunts.reader import StuntsReader, StuntsRecording
from slpstream.formats.stunts.track import HIGHEST_TERRAIN, TILES, Track

BITS = {
    "accelerate": ACCELERATE,
    "brake": BRAKE,
    "right": RIGHT,
    "left": LEFT,
    "gear_up": GEAR_UP,
    "gear_down": GEAR_DOWN,
}
"""The bits of an input byte, lowest first, by their names in the shared tables."""


def track(seed: int = 0, horizon: int = 1) -> Track:
    """A track with random elements and terrain."""
    dice = random.Random(seed)
    elements = bytes(dice.randrange(0xB6) for _ in range(TILES))
    terrain = bytes(dice.randrange(HIGHEST_TERRAIN + 1) for _ in range(TILES))
    return Track(elements + bytes([horizon]) + terrain + b"\0")


def keys(ticks: int, seed: int = 0) -> bytes:
    """Random input bytes in runs of up to 20 tics, as from keys that are held."""
    dice, data = random.Random(seed), b""
    while len(data) < ticks:
        data += bytes([dice.choice((1, 1, 5, 9, 2, 0, 17, 33))]) * dice.randint(1, 20)
    return data[:ticks]


def replay(
    layout: LayoutName = "new", ticks: int = 300, frequency_hz: int = 20, inputs: bytes | None = None, opponent: int = 0
) -> StuntsReplay:
    """A race of `ticks` tics."""
    return StuntsReplay(
        layout=layout,
        car=b"VETT",
        color=3,
        transmission=0,
        opponent_id=opponent,
        opponent_car=b"PMIN" if opponent else b"\xffMIN",
        opponent_color=2,
        opponent_transmission=1 if opponent else 0,
        track_name=b"DEFAULT\0X",
        frequency_hz=frequency_hz,
        track=track(),
        inputs=InputRuns(keys(ticks) if inputs is None else inputs),
    )


def read(data: bytes, name: str = "a.rpl") -> StuntsRecording:
    """Read a file. Raises the reader's error."""
    return StuntsReader(name=name).read(data)
