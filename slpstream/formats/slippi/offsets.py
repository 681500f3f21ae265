"""The file offsets of all events of a game. `frame_index` finds them, and `columns` reads arrays of values there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.model.errors import FormatError

Offsets = npt.NDArray[np.int64]

ABSENT = -1
"""The offset of an event that a frame does not have."""


class Slot(NamedTuple):
    """A kind of event that occurs at most once in a frame.

    Frame Start and Frame Bookend belong to no player: `player` is 0 and `follower` is `False`.
    """

    command: int
    player: int = 0
    follower: bool = False


class RepeatedEvents(NamedTuple):
    """Events of a kind that can occur many times in a frame, such as items, in the order of the frames.

    `offsets` has one entry for each event. The events of frame i are `offsets[firsts[i]:firsts[i + 1]]`.
    """

    offsets: Offsets
    firsts: Offsets

    def of_frames(self, which: Offsets) -> RepeatedEvents:
        """The events of the frames with the indices `which`."""
        counts = np.diff(self.firsts)[which]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        index = np.arange(firsts[-1]) + np.repeat(self.firsts[which] - firsts[:-1], counts)
        return RepeatedEvents(self.offsets[index], firsts)


class FrameIndex(NamedTuple):
    """The offsets of every sending of every frame of a game, in file order."""

    numbers: npt.NDArray[np.int32]
    """Frame number of each sending."""
    slots: dict[Slot, Offsets]
    """For each slot, one entry per sending: the file offset of the command byte, or `ABSENT`."""
    repeated: dict[int, RepeatedEvents]
    """Items and stage events by command byte."""
    stop: int
    """Where the frames end: at Game End, the metadata, the raw length, an unreadable byte, or the end of the file."""
    failure: FormatError | None
    """The error found at `stop`, if any."""


def stride_of(offsets: Offsets) -> int | None:
    """The constant distance between consecutive offsets, at least 1; `None` if the distances differ."""
    if len(offsets) < 2:
        return None
    stride = int(offsets[1]) - int(offsets[0])
    if stride < 1 or int(offsets[-1]) - int(offsets[0]) != stride * (len(offsets) - 1) or offsets[0] < 0:
        return None
    return stride if bool((offsets[1:] - offsets[:-1] == stride).all()) else None
