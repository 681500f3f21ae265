"""The offsets of a whole game's events: found by `frame_index`, made into arrays of values by `columns`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.model.errors import FormatError

Offsets = npt.NDArray[np.int64]

ABSENT = -1
"""The offset of an event that a frame does not have."""


class Slot(NamedTuple):
    """An event that a frame has at most once. `player` and `follower` are 0 for Frame Start and Frame Bookend."""

    command: int
    player: int = 0
    follower: bool = False


class Things(NamedTuple):
    """Events that a frame can have many of, in the order of the frames.

    `offsets` has one entry for each event; those of frame i are `firsts[i]` to `firsts[i + 1]`.
    """

    offsets: Offsets
    firsts: Offsets


class FrameIndex(NamedTuple):
    """All sendings of all frames of a game, in file order."""

    numbers: npt.NDArray[np.int32]
    """Frame number of each sending."""
    slots: dict[Slot, Offsets]
    """For each sending, the file offset of the command byte, or `ABSENT`."""
    things: dict[int, Things]
    """Items and stage events by command byte."""
    stop: int
    """Where the frames end: at Game End, the metadata, the raw length, an unreadable byte, or the end of the file."""
    failure: FormatError | None
    """What is wrong at `stop`."""


def stride_of(offsets: Offsets) -> int | None:
    """The distance between offsets that are all equally far apart (at least 1), else `None`."""
    if len(offsets) < 2:
        return None
    stride = int(offsets[1]) - int(offsets[0])
    if stride < 1 or int(offsets[-1]) - int(offsets[0]) != stride * (len(offsets) - 1) or offsets[0] < 0:
        return None
    return stride if bool((offsets[1:] - offsets[:-1] == stride).all()) else None
