"""Messages that are sent as deltas, and the earlier messages to which these deltas refer.

If an encoding supports deltas, each `frame`, `finalized` and `stats` message of a station is a `DeltaBase`. It is
encoded as the difference to the base that the subscriber has, which for a group is the newest one that was sent to the
group. A subscriber might not have this base, because it has just joined or because messages might have been dropped on
the way. In this case, it receives the whole message, and has the base from then on. Since any earlier message can serve
as the base, it is fine if a filter leaves out some messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

import msgspec

from slpstream.model.delta import DELTA_TYPES, Image
from slpstream.model.messages import LogMessage, Position, cut_entry

CHUNK_BYTES = 64 * 1024
"""A socket usually takes this much in one write."""
data_of = attrgetter("data")


class DeltaBase:
    """A message to which later messages can be deltas. It is cut down to the fields of the subscription."""

    __slots__ = ("_image", "fields", "message")

    def __init__(self, message: LogMessage, fields: tuple[str, ...] | None) -> None:
        self.message = message
        self.fields = fields
        self._image: Image | None = None

    @property
    def place(self) -> tuple[str | None, Position]:
        """The game id and the position. If two bases have the same place, they hold the same message."""
        return self.message.game_id, self.message.position

    @property
    def image(self) -> Image:
        """The payload in a form that makes it fast to compare it with the next one."""
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
    """An encoding that can send a message as a delta to an earlier one."""

    def follow(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """Encode `base` for a subscriber that already has `before`, which must be of the same game and type.

        The result is ready to be written to the socket.
        """


class Entry(msgspec.Struct, frozen=True):
    """A message that was encoded for a group.

    If `before` is set, `data` is a delta, and only makes sense to subscribers that have this base. If `base` is set,
    they have this base after they have read it.
    """

    data: bytes
    message: LogMessage
    before: DeltaBase | None = None
    base: DeltaBase | None = None

    def fits(self, known: DeltaBases) -> bool:
        """Whether a subscriber that has these bases is able to read the data."""
        return self.before is None or has_base(known, self.before)


class Chunk:
    """Several entries that we write to the socket with a single call."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.joined = b"".join(map(data_of, entries))
        self._needs: list[DeltaBase] = []
        self.bases: DeltaBases = {}
        """The bases that a subscriber has after reading the chunk."""
        for entry in entries:
            if entry.base is not None:
                kind = entry.message.type
                if kind not in self.bases and entry.before is not None:
                    self._needs.append(entry.before)
                self.bases[kind] = entry.base

    def fits(self, known: DeltaBases) -> bool:
        """Whether a subscriber that has these bases is able to read all entries."""
        return all(has_base(known, before) for before in self._needs)


def has_base(known: DeltaBases, base: DeltaBase) -> bool:
    """Whether the newest message of this type that the subscriber knows is `base`."""
    own = known.get(base.message.type)
    return own is base or (own is not None and own.place == base.place)


def predecessor(known: DeltaBases, message: LogMessage) -> DeltaBase | None:
    """Return the base to use for the given message, which is the newest known message of its type.

    Returns `None` if there isn't one, or if it belongs to another game.
    """
    before = known.get(message.type)
    return before if before is not None and before.message.game_id == message.game_id else None


def can_be_base(message: LogMessage) -> bool:
    """Whether later messages of this type can be sent as deltas to the given message."""
    return message.type in DELTA_TYPES and message.game_id is not None


def chunks(entries: Sequence[Entry]) -> list[Chunk]:
    """Divide entries into runs that are short enough for a socket to usually take each of them in one write."""
    runs: list[list[Entry]] = []
    room = 0
    for entry in entries:
        if not runs or len(entry.data) > room:
            runs.append([])
            room = CHUNK_BYTES
        runs[-1].append(entry)
        room -= len(entry.data)
    return [Chunk(run) for run in runs]
