"""Messages that are sent as what has changed since the one before them.

Each `frame`, `finalized` and `stats` message of a station is a `DeltaBase`, and is encoded against the base that the
subscriber has: for a group, that is the newest one that the group was sent. A subscriber that lacks it, because it has
just joined or because messages may have been dropped on the way, is sent the whole message and has that base from there
on. Any earlier message will do as a base, so it does not matter what a filter left out in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from slpstream.model.delta import DELTA_TYPES, Image
from slpstream.model.messages import LogMessage, Position, cut_entry

_CHUNK_BYTES = 64 * 1024


class DeltaBase:
    """A message, cut down to the fields that a subscriber wants, as something that another one can follow."""

    __slots__ = ("_image", "fields", "message")

    def __init__(self, message: LogMessage, fields: tuple[str, ...] | None) -> None:
        self.message = message
        self.fields = fields
        self._image: Image | None = None

    @property
    def place(self) -> tuple[str | None, Position]:
        """Game and position: the same place, the same message."""
        return self.message.game_id, self.message.position

    @property
    def image(self) -> Image:
        """The payload, to compare the next one with."""
        if self._image is None:
            self._image = Image(self.payload())
        return self._image

    @image.setter
    def image(self, image: Image) -> None:
        self._image = image

    def payload(self) -> dict[str, Any]:
        """What the message says, without the envelope."""
        payload: dict[str, Any] = msgspec.json.decode(b"{" + self.message.body)
        if self.fields is not None and self.message.type == "frame":
            payload["frame"] = cut_entry(payload["frame"], self.fields)
        return payload


Known = dict[str, DeltaBase]
"""By type: the newest message of a station that somebody has."""


@runtime_checkable
class DeltaEncoding(Protocol):
    """A wire with messages that follow others."""

    def follow(self, link: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """A message for somebody who has the one before it, of the same game and type; ready for the socket."""


class Entry(NamedTuple):
    """A message for a group. With `before` the bytes are for those who have that link; `link` is what they have
    then."""

    data: bytes
    message: LogMessage
    before: DeltaBase | None = None
    link: DeltaBase | None = None

    def fits(self, known: Known) -> bool:
        """Whether somebody who knows that much can read the bytes."""
        return self.before is None or has(known, self.before)


class Chunk:
    """Entries that are written with one call."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.joined = entries[0].data if len(entries) == 1 else b"".join([entry.data for entry in entries])
        linked = [entry for entry in entries if entry.link is not None]
        self._needs: Sequence[DeltaBase] = ()
        self.links: Known = {}
        """What those who got it then have; empty when nothing in it follows anything."""
        if linked:
            first = {entry.message.type: entry for entry in reversed(linked)}
            self._needs = [entry.before for entry in first.values() if entry.before is not None]
            self.links = {entry.message.type: entry.link for entry in linked if entry.link is not None}

    def fits(self, known: Known) -> bool:
        """Whether somebody who knows that much can read all of it."""
        return all(has(known, before) for before in self._needs)


def has(known: Known, link: DeltaBase) -> bool:
    """Whether the newest message of the type is that one."""
    own = known.get(link.message.type)
    return own is link or (own is not None and own.place == link.place)


def predecessor(known: Known, message: LogMessage) -> DeltaBase | None:
    """What a message follows, if it is of the same game."""
    before = known.get(message.type)
    return before if before is not None and before.message.game_id == message.game_id else None


def is_link(message: LogMessage) -> bool:
    """Whether messages of its type follow each other."""
    return message.type in DELTA_TYPES and message.game_id is not None


def chunks(entries: Sequence[Entry]) -> list[Chunk]:
    """Runs that a socket usually takes whole."""
    runs: list[list[Entry]] = []
    room = 0
    for entry in entries:
        if not runs or len(entry.data) > room:
            runs.append([])
            room = _CHUNK_BYTES
        runs[-1].append(entry)
        room -= len(entry.data)
    return [Chunk(run) for run in runs]
