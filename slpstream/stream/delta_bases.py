"""Messages sent as deltas, and the earlier messages that they are deltas to.

In an encoding with deltas, each `frame`, `finalized` and `stats` message of a station is a `DeltaBase`. It is encoded
against the base that the subscriber has: for a group, the newest one that was sent to the group. A subscriber that
lacks it (it has just joined, or messages can have been dropped on the way) receives the whole message, and has that
base from then on. Any earlier message can be the base, so filters that leave out messages do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from slpstream.model.delta import DELTA_TYPES, Image
from slpstream.model.messages import LogMessage, Position, cut_entry

_CHUNK_BYTES = 64 * 1024


class DeltaBase:
    """A message, cut down to the fields of a subscription, to which later messages can be deltas."""

    __slots__ = ("_image", "fields", "message")

    def __init__(self, message: LogMessage, fields: tuple[str, ...] | None) -> None:
        self.message = message
        self.fields = fields
        self._image: Image | None = None

    @property
    def place(self) -> tuple[str | None, Position]:
        """Game id and position; bases with the same place hold the same message."""
        return self.message.game_id, self.message.position

    @property
    def image(self) -> Image:
        """The payload, prepared for comparison with the next one."""
        if self._image is None:
            self._image = Image(self.payload())
        return self._image

    @image.setter
    def image(self, image: Image) -> None:
        self._image = image

    def payload(self) -> dict[str, Any]:
        """Return the message without its envelope."""
        payload: dict[str, Any] = msgspec.json.decode(b"{" + self.message.body)
        if self.fields is not None and self.message.type == "frame":
            payload["frame"] = cut_entry(payload["frame"], self.fields)
        return payload


DeltaBases = dict[str, DeltaBase]
"""A subscriber's newest message of a station, by message type."""


@runtime_checkable
class DeltaEncoding(Protocol):
    """An encoding in which a message can be a delta to an earlier one."""

    def follow(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """Encode `base` for a subscriber that has `before`, of the same game and type; ready for the socket."""


class Entry(NamedTuple):
    """An encoded message for a group.

    If `before` is set, only subscribers with that base can read `data`. If `base` is set, they have it afterwards.
    """

    data: bytes
    message: LogMessage
    before: DeltaBase | None = None
    base: DeltaBase | None = None

    def fits(self, known: DeltaBases) -> bool:
        """Whether a subscriber with these bases can read the data."""
        return self.before is None or has_base(known, self.before)


class Chunk:
    """Entries that are written to the socket with one call."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.joined = entries[0].data if len(entries) == 1 else b"".join([entry.data for entry in entries])
        linked = [entry for entry in entries if entry.base is not None]
        self._needs: Sequence[DeltaBase] = ()
        self.bases: DeltaBases = {}
        """The bases that a subscriber has after reading the chunk."""
        if linked:
            first = {entry.message.type: entry for entry in reversed(linked)}
            self._needs = [entry.before for entry in first.values() if entry.before is not None]
            self.bases = {entry.message.type: entry.base for entry in linked if entry.base is not None}

    def fits(self, known: DeltaBases) -> bool:
        """Whether a subscriber with these bases can read every entry."""
        return all(has_base(known, before) for before in self._needs)


def has_base(known: DeltaBases, base: DeltaBase) -> bool:
    """Whether the newest known message of the type is `base`."""
    own = known.get(base.message.type)
    return own is base or (own is not None and own.place == base.place)


def predecessor(known: DeltaBases, message: LogMessage) -> DeltaBase | None:
    """Return the base for a message: the newest known message of its type, if it belongs to the same game."""
    before = known.get(message.type)
    return before if before is not None and before.message.game_id == message.game_id else None


def can_be_base(message: LogMessage) -> bool:
    """Whether later messages of this type can be deltas to it."""
    return message.type in DELTA_TYPES and message.game_id is not None


def chunks(entries: Sequence[Entry]) -> list[Chunk]:
    """Group entries into runs that a socket usually takes in one write."""
    runs: list[list[Entry]] = []
    room = 0
    for entry in entries:
        if not runs or len(entry.data) > room:
            runs.append([])
            room = _CHUNK_BYTES
        runs[-1].append(entry)
        room -= len(entry.data)
    return [Chunk(run) for run in runs]
