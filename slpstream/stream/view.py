"""The choice of messages, fields and encoding that several subscribers can share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Set
from typing import Any, Protocol, runtime_checkable

from slpstream.model.messages import FramesMode, LogMessage
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.stream.delta_bases import DeltaBase, DeltaBases, DeltaEncoding, Entry, can_be_base, predecessor
from slpstream.stream.subscription import Subscription


class Encoding(Protocol):
    """Encodes messages for one kind of connection, for example a websocket."""

    @property
    def key(self) -> Hashable:
        """If two encodings have equal keys, they turn each message into the same bytes."""

    def log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None = None) -> bytes:
        """Encode a log message. The result is ready to be written to the socket.

        If you pass `fields`, which is only possible for a `frame` message, then it is cut down to these.
        """

    def status(self, payload: dict[str, Any]) -> bytes:
        """Encode a status message. The result is ready to be written to the socket."""


Joined = Callable[[list[LogMessage], str, Set[str], tuple[str, ...] | None], bytes]
"""Encodes those messages of a station that have one of the types, one after another. If there are fields, then `frame`
messages are cut down to these."""


@runtime_checkable
class JoinedEncoding(Protocol):
    """An encoding that can encode many messages at once."""

    @property
    def joined(self) -> Joined:
        """Encodes many messages."""


class View:
    """The messages that a subscription asks for, in its encoding.

    If the views of two subscribers have equal keys, both get the same bytes, so the work needs to be done only once.
    """

    def __init__(self, subscription: Subscription, encoding: Encoding) -> None:
        self.mode: FramesMode = subscription.frames
        self.key: Hashable = (
            encoding.key, subscription.frames, subscription.topics, subscription.finality, subscription.rate,
            subscription.fields,
        )  # fmt: skip
        self._encoding = encoding
        self._delta_encoding = encoding if isinstance(encoding, DeltaEncoding) else None
        self.has_deltas = self._delta_encoding is not None
        """Whether some messages are encoded as their differences from earlier ones."""
        self._rate = subscription.rate
        self.fields = subscription.fields
        types = {kind for kind, topic in TOPIC_OF_TYPE.items() if topic in subscription.topics}
        self.types = frozenset(types if subscription.finality else types - {"finalized"})
        self.joined: Joined | None = None
        """Encodes all messages of the `types`, with these `fields`. If this is `None`, join the data of `entries`."""
        if isinstance(encoding, JoinedEncoding) and not self.has_deltas and subscription.rate is None:
            self.joined = encoding.joined

    def entries(
        self,
        messages: Iterable[LogMessage],
        station: str,
        frames_per_second: int,
        known: DeltaBases,
        *,
        are_shared: bool = True,
    ) -> list[Entry]:
        """Encode those messages that the subscription asks for.

        The result is for subscribers that have the bases in `known`, which are then updated. If messages `are_shared`,
        they remember their encoded form for others.
        """
        rate, deltas = self._rate, self._delta_encoding
        encode = self._encode_for_all if are_shared else self._encoding.log
        entries: list[Entry] = []
        for message in messages:
            kind = message.type
            if kind not in self.types:
                continue
            if rate is not None and kind == "frame" and not keeps_frame(message.frame or 0, rate, frames_per_second):
                continue
            fields = self.fields if kind == "frame" else None
            if deltas is None or not can_be_base(message):
                entries.append(Entry(encode(message, station, fields), message))
                continue
            before = predecessor(known, message)
            known[kind] = base = DeltaBase(message, self.fields)
            data = encode(message, station, fields) if before is None else deltas.follow(base, before, station)
            entries.append(Entry(data, message, before, base))
        return entries

    def whole(self, message: LogMessage, station: str) -> bytes:
        """Encode a message as a whole, for subscribers that have no base yet.

        You should check first that it is wanted.
        """
        return self._encode_for_all(message, station, self.fields if message.type == "frame" else None)

    def _encode_for_all(self, message: LogMessage, station: str, fields: tuple[str, ...] | None) -> bytes:
        return message.form((self._encoding.key, station, fields), self._encoding.log, station, fields)

    def status(self, payload: dict[str, Any]) -> bytes:
        """Encode a status message."""
        return self._encoding.status(payload)


def keeps_frame(number: int, rate: int, frames_per_second: int) -> bool:
    """Whether you get this frame number if you subscribe to `rate` frames per second of game time."""
    return rate >= frames_per_second or number * rate % frames_per_second < rate
