"""The choice of messages, fields and encoding that several subscribers can share.

If an encoding supports deltas, each `frame`, `finalized` and `stats` message of a station is a `DeltaBase`. It is
encoded as the difference to the base that the subscriber has, which for a group is the newest one that was sent to the
group. A subscriber might not have this base, because it has just joined or because messages might have been dropped on
the way. In this case, it receives the whole message, and has the base from then on. Since any earlier message can serve
as the base, it is fine if a filter leaves out some messages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Set
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import msgspec

from slpstream.model.delta import DELTA_TYPES, Image
from slpstream.model.messages import FramesMode, LogMessage, Position, cut_entry
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.stream.subscription import Delivery, Subscription

CHUNK_BYTES = 64 * 1024
"""A socket usually takes this much in one write."""


class DeltaBase:
    """A message to which later messages can be deltas. It is cut down to the fields of the subscription.

    Two bases are equal if they hold the same message.
    """

    __hash__ = None  # type: ignore[assignment]  # the image is made on demand

    def __init__(self, message: LogMessage, fields: tuple[str, ...] | None) -> None:
        self.message = message
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeltaBase) and self.place == other.place

    @property
    def place(self) -> tuple[str | None, Position]:
        """The game id and the position."""
        return self.message.game_id, self.message.position

    @cached_property
    def image(self) -> Image:
        """The payload in a form that makes it fast to compare it with the next one."""
        return Image(self.payload())

    def payload(self) -> dict[str, Any]:
        """Return the message without its envelope."""
        payload: dict[str, Any] = msgspec.json.decode(b"{" + self.message.body)
        if self.fields is not None and self.message.type == "frame":
            payload["frame"] = cut_entry(payload["frame"], self.fields)
        return payload


DeltaBases = dict[str, DeltaBase]
"""A subscriber's newest message of a station, by message type."""


class Entry(msgspec.Struct, frozen=True):
    """A message that was encoded for a group.

    If `before` is set, `data` is a delta, and only makes sense to subscribers that have this base. If `base` is set,
    they have this base after they have read it.
    """

    data: bytes
    message: LogMessage
    before: DeltaBase | None = None
    base: DeltaBase | None = None


Chunk = tuple[bytes, list[Entry]]
"""Several entries, after their joined data, which we write to a socket with a single call."""


def chunks(entries: Iterable[Entry]) -> list[Chunk]:
    """Divide entries into runs that are short enough for a socket to usually take each of them in one write."""
    runs: list[list[Entry]] = []
    room = 0
    for entry in entries:
        if not runs or len(entry.data) > room:
            runs.append([])
            room = CHUNK_BYTES
        runs[-1].append(entry)
        room -= len(entry.data)
    return [(b"".join([entry.data for entry in run]), run) for run in runs]


Joined = Callable[[list[LogMessage], str, Set[str], tuple[str, ...] | None], bytes]
"""Encodes those messages of a station that have one of the types, one after another. If there are fields, then `frame`
messages are cut down to these."""


class Encoding(Protocol):
    """Encodes messages for one kind of connection, for example a websocket."""

    @property
    def key(self) -> Hashable:
        """If two encodings have equal keys, they turn each message into the same bytes."""

    @property
    def joined(self) -> Joined | None:
        """Encodes many messages at once, or `None` if this encoding can't."""

    def log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None = None) -> bytes:
        """Encode a log message. The result is ready to be written to the socket.

        If you pass `fields`, which is only possible for a `frame` message, then it is cut down to these.
        """

    def status(self, payload: dict[str, Any]) -> bytes:
        """Encode a status message. The result is ready to be written to the socket."""


@runtime_checkable
class DeltaEncoding(Protocol):
    """An encoding that can send a message as a delta to an earlier one."""

    def follow(self, base: DeltaBase, before: DeltaBase, station: str) -> bytes:
        """Encode `base` for a subscriber that already has `before`, which must be of the same game and type.

        The result is ready to be written to the socket.
        """


class View:
    """The messages that a subscription asks for, in its encoding.

    If the views of two subscribers have equal keys, both get the same bytes, so the work needs to be done only once.
    """

    def __init__(self, subscription: Subscription, encoding: Encoding) -> None:
        self.mode: FramesMode = subscription.frames
        self.delivery: Delivery = subscription.delivery
        self.key: Hashable = (
            encoding.key, subscription.frames, subscription.topics, subscription.finality, subscription.rate,
            subscription.fields, subscription.delivery,
        )  # fmt: skip
        self._encoding = encoding
        self.deltas = encoding if isinstance(encoding, DeltaEncoding) else None
        """Encodes some messages as their differences from earlier ones."""
        self._rate = subscription.rate
        self.fields = subscription.fields
        types = {kind for kind, topic in TOPIC_OF_TYPE.items() if topic in subscription.topics}
        self.types = frozenset(types if subscription.finality else types - {"finalized"})
        self.joined = encoding.joined if self.deltas is None and subscription.rate is None else None
        """Encodes all messages of the `types`, with these `fields`. If this is `None`, join the data of `entries`."""

    def entries(
        self, messages: Iterable[LogMessage], station: str, frames_per_second: int, known: DeltaBases
    ) -> list[Entry]:
        """Encode those messages that the subscription asks for.

        The result is for subscribers that have the bases in `known`, which are then updated.
        """
        rate, deltas = self._rate, self.deltas
        entries: list[Entry] = []
        for message in messages:
            kind = message.type
            if kind not in self.types:
                continue
            if rate is not None and kind == "frame" and not keeps_frame(message.frame or 0, rate, frames_per_second):
                continue
            if deltas is None or kind not in DELTA_TYPES or message.game_id is None:
                entries.append(Entry(self.whole(message, station), message))
                continue
            before = known.get(kind)
            if before is not None and before.message.game_id != message.game_id:
                before = None
            known[kind] = base = DeltaBase(message, self.fields)
            data = self.whole(message, station) if before is None else deltas.follow(base, before, station)
            entries.append(Entry(data, message, before, base))
        return entries

    def whole(self, message: LogMessage, station: str) -> bytes:
        """Encode a wanted message as a whole. The message remembers the result for other subscribers."""
        fields = self.fields if message.type == "frame" else None
        return message.form((self._encoding.key, station, fields), self._encoding.log, station, fields)


def keeps_frame(number: int, rate: int, frames_per_second: int) -> bool:
    """Whether you get this frame number if you subscribe to `rate` frames per second of game time."""
    return rate >= frames_per_second or number * rate % frames_per_second < rate
