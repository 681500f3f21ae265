"""The offsets of all events of a game in its file.

`frame_index` finds them, and `columns` uses them to read arrays of values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.model.errors import FormatError

Offsets = npt.NDArray[np.int64]

ABSENT = -1
"""The offset of an event that a frame does not have."""


class Slot(NamedTuple):
    """A kind of event that can't occur more than once in a frame.

    Frame Start and Frame Bookend don't belong to a player. For these, `player` is 0 and `follower` is `False`.
    """

    command: int
    player: int = 0
    follower: bool = False


class RepeatedEvents(NamedTuple):
    """Events of a kind that can occur many times in a frame, for example items. They are in the order of the frames.

    `offsets` has one entry for each event. To get the events of frame i, use `offsets[firsts[i]:firsts[i + 1]]`.
    """

    offsets: Offsets
    firsts: Offsets

    def of_frames(self, which: Offsets) -> RepeatedEvents:
        """Return the events of those frames that have one of these indices."""
        counts = np.diff(self.firsts)[which]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        index = np.arange(firsts[-1]) + np.repeat(self.firsts[which] - firsts[:-1], counts)
        return RepeatedEvents(self.offsets[index], firsts)


class FrameIndex(NamedTuple):
    """The offsets for every sending of every frame in a game, in the order of the file."""

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

    def of_sendings(self, which: Offsets) -> FrameIndex:
        """Return the sendings with these indices, with those slots and repeated events that they have."""
        slots = {slot: offsets[which] for slot, offsets in self.slots.items()}
        repeated = {command: events.of_frames(which) for command, events in self.repeated.items()}
        return self._replace(
            numbers=self.numbers[which],
            slots={slot: offsets for slot, offsets in slots.items() if (offsets != ABSENT).any()},
            repeated={command: events for command, events in repeated.items() if len(events.offsets)},
        )
