"""Compute differences between nested values, and encode them as messages (`slpstream.v1.delta`).

Consecutive frames of a game differ in only some thirty numbers, so it is wasteful to send all of them each time.
Instead, both ends remember the newest message of each type and station. The first message is sent whole, and later ones
are sent as differences. This module doesn't know anything about games. It works with the maps, arrays and scalars that
you know from JSON.

We treat a value as a flat list of its leaves: first those of the container itself, in the order of its keys, then those
of the containers in it, in the same order (keys of maps by code point, items of arrays by index). An empty map or array
is a leaf. If two values have the same shape, then the difference is completely described by the numbers of the leaves
that differ, together with their new values. If the shapes differ, the delta begins with edits that give the older value
the shape of the newer one.

A message with a type in `DELTA_TYPES` is either a map, like all other messages, or an array, which you apply to the
previous message of the same type and station:

    [station, type, offset, count, edits, ups, singles, floats, others, value...]

`type` is an index into `DELTA_TYPES`. `offset` is added to the offset in the cursor; `count` is the new count; the game
stays the same. `edits` is an array of `[path, value]` (set) and `[path]` (remove), applied in order. `ups`, `singles`
and `others` select leaves: each byte string holds the number of leaves between one selected leaf and the next, in
base-128 groups, low groups first, with the high bit set on all but the last. The leaves in `ups` grow by one; those in
`singles` get the values in `floats`, which are big-endian 32-bit floats; those in `others` get the values at the end of
the array. The sender can omit empty strings and arrays at the end, so for example `[station, type, offset, count, [],
ups]` is a complete message.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import itemgetter, ne
from typing import Any, NamedTuple

import msgspec

from slpstream.model.errors import ProtocolViolation
from slpstream.model.foreign_data import read_messagepack

SUBPROTOCOL = "slpstream.v1.delta"
DELTA_TYPES = ("frame", "finalized", "stats")
"""The message types that can be sent as deltas; the newest message replaces the older ones."""

Path = list[str | int]

_pack = msgspec.msgpack.Encoder().encode
_ENVELOPE = frozenset({"type", "station", "gameId", "cursor"})
_WRONG = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class _Shape:
    """The structure of a container, all the way down to its leaves."""

    __slots__ = ("children", "get", "keys", "kind", "size")

    def __init__(self, value: dict[str, Any] | list[Any]) -> None:
        self.kind = value.__class__
        self.size = len(value)
        keys: Sequence[Any] = sorted(value) if isinstance(value, dict) else range(len(value))
        self.keys = [key for key in keys if not _is_container(value[key])]
        self.children = [(key, _Shape(value[key])) for key in keys if _is_container(value[key])]
        self.get: Callable[[Any], tuple[Any, ...]] = _getter(self.keys)

    def read(self, value: Any, into: list[Any]) -> bool:
        """Append the leaves of a value to `into`. Returns False if it turns out that the value has another shape."""
        if value.__class__ is not self.kind or len(value) != self.size:
            return False
        try:
            into += self.get(value)
            for key, child in self.children:
                if not child.read(value[key], into):
                    return False
        except KeyError:
            return False
        return True

    def build(self, leaves: Sequence[Any], at: int) -> tuple[Any, int]:
        """Build the value whose leaves begin at index `at`. Returns the value and the index just after its leaves."""
        after = at + len(self.keys)
        value: Any
        own = [
            leaf.__class__() if leaf.__class__ is list or leaf.__class__ is dict else leaf for leaf in leaves[at:after]
        ]
        pairs = zip(self.keys, own, strict=True)
        if self.kind is dict:
            value = dict(pairs)
        else:
            value = [None] * self.size
            for i, leaf in pairs:
                value[i] = leaf
        for key, child in self.children:
            value[key], after = child.build(leaves, after)
        return value, after


def _getter(keys: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that gets the values of all keys as a tuple.

    We need this because `itemgetter` only returns a tuple if you pass it two or more keys.
    """
    if not keys:
        return lambda value: ()
    if len(keys) == 1:
        only = keys[0]
        return lambda value: (value[only],)
    return itemgetter(*keys)


_CONTAINERS = (dict, list)
_MINUS_ZERO = msgspec.msgpack.encode(-0.0)


def _is_container(value: Any) -> bool:
    return isinstance(value, _CONTAINERS) and len(value) > 0


class Image:
    """A value together with its leaves, which makes it fast to compare it with the value that comes next."""

    __slots__ = ("_shape", "_types", "leaves", "value")

    def __init__(self, value: Any, shape: _Shape | None = None, leaves: list[Any] | None = None) -> None:
        """Prepare a value, which must be a map or array that isn't empty."""
        self.value = value
        self._shape = _Shape(value) if shape is None else shape
        self._types: tuple[list[type], bool] | None = None
        self.leaves: list[Any] = [] if leaves is None else leaves
        if leaves is None:
            self._shape.read(value, self.leaves)

    def change(self, value: Any) -> tuple[Changes, Image]:
        """Compare this value with another one.

        Returns the changes, and the image of the other value for the next comparison.
        """
        leaves: list[Any] = []
        if self._shape.read(value, leaves):
            after = Image(value, self._shape, leaves)
            changed = self._changed(after)
            if not any(_is_container(leaves[i]) for i in changed):
                return Changes([], changed, self.leaves, leaves), after
        edits: list[list[Any]] = []
        before = Image(_reshape(self.value, value, [], edits))
        after = Image(value, before._shape)
        return Changes(edits, before._changed(after), before.leaves, after.leaves), after

    def _changed(self, after: Image) -> list[int]:
        """Return the indices of the leaves that differ, where 1 differs from 1.0, and 0.0 from -0.0.

        These two cases are rare, so we first do a cheap check to see whether they can occur at all.
        """
        kinds, has_minus_zero = self._kinds()
        if not has_minus_zero and (kinds, has_minus_zero) == after._kinds():
            return list(compress(range(len(kinds)), map(ne, self.leaves, after.leaves)))
        return [
            i
            for i, (old, new) in enumerate(zip(self.leaves, after.leaves, strict=True))
            if old != new or old.__class__ is not new.__class__ or (not old and str(old) != str(new))
        ]

    def _kinds(self) -> tuple[list[type], bool]:
        """Return the types of the leaves, and whether there might be a minus zero among them."""
        if self._types is None:
            self._types = list(map(type, self.leaves)), _MINUS_ZERO in _pack(self.leaves)
        return self._types

    def changed(self, delta: Sequence[Any]) -> Image:
        """Apply a delta, which you pass from its edits on, and return the image of the resulting value.

        Raises `ProtocolViolation` if the delta doesn't apply to this value.
        """
        try:
            edits, ups, singles, floats, others, *values = [*delta, *_NOTHING[len(delta) :]]
            before = Image(_edited(self._shape.build(self.leaves, 0)[0], edits)) if edits else self
            leaves = list(before.leaves)
            for i in _indices(ups):
                leaves[i] += 1
            for i, value in zip(_indices(singles), struct.unpack(f">{len(floats) // 4}f", floats), strict=True):
                leaves[i] = value
            for i, value in zip(_indices(others), values, strict=True):
                leaves[i] = value
        except (*_WRONG, struct.error, RecursionError) as error:
            raise ProtocolViolation(f"not a delta of the value before it: {error}") from None
        return Image(before._shape.build(leaves, 0)[0], before._shape, leaves)


_NOTHING: tuple[Any, ...] = ([], b"", b"", b"", b"")


class Changes(NamedTuple):
    """The difference between two values.

    It consists of edits that change the shape, followed by the indices of the leaves that differ.
    """

    edits: list[list[Any]]
    indices: list[int]
    before: list[Any]
    after: list[Any]

    def parts(self) -> list[Any]:
        """Return the part of a delta message that describes these changes, which is everything from `edits` on."""
        before, after = self.before, self.after
        ups: list[int] = []
        singles: list[int] = []
        others: list[int] = []
        for i in self.indices:
            new = after[i]
            kind = new.__class__
            if kind is float:
                old = before[i]
                (ups if old.__class__ is float and new and new == old + 1 else singles).append(i)  # -1 to -0.0
            elif kind is int and before[i].__class__ is int and new == before[i] + 1:
                ups.append(i)
            else:
                others.append(i)
        floats = _singles([after[i] for i in singles])
        if floats is None:  # some need 64 bits
            others = sorted([*others, *[i for i in singles if _singles([after[i]]) is None]])
            singles = [i for i in singles if _singles([after[i]]) is not None]
            floats = _singles([after[i] for i in singles]) or b""
        parts = [self.edits, _gaps(ups), _gaps(singles), floats, _gaps(others), *[after[i] for i in others]]
        while parts and not others and not parts[-1]:
            parts.pop()
        return parts


def _singles(values: Sequence[float]) -> bytes | None:
    """Pack the values as 32-bit floats. Returns `None` if at least one of them would lose precision that way."""
    form = f">{len(values)}f"
    try:
        packed = struct.pack(form, *values)
    except OverflowError:
        return None
    return packed if struct.unpack(form, packed) == tuple(values) else None


def _gaps(indices: Sequence[int]) -> bytes:
    coded = bytearray()
    expected = 0
    for index in indices:
        gap = index - expected
        expected = index + 1
        while gap > 0x7F:
            coded.append(gap & 0x7F | 0x80)
            gap >>= 7
        coded.append(gap)
    return bytes(coded)


def _indices(coded: bytes) -> list[int]:
    indices: list[int] = []
    expected = gap = shift = 0
    for byte in coded:
        gap |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            indices.append(expected + gap)
            expected += gap + 1
            gap = shift = 0
    if shift:
        raise ValueError("an index ends in the middle")
    return indices


def _reshape(old: Any, new: Any, path: Path, edits: list[list[Any]]) -> Any:
    """Return `old` in the shape of `new`, and append the edits that are needed to get there to `edits`."""
    if isinstance(old, dict) and isinstance(new, dict) and new:
        edits += [[[*path, key]] for key in old if key not in new]
        both = {key: _reshape(old[key], new[key], [*path, key], edits) for key in new if key in old}
        edits += [[[*path, key], new[key]] for key in new if key not in old]
        return both | {key: new[key] for key in new if key not in old}
    if isinstance(old, list) and isinstance(new, list) and new:
        edits += [[[*path, i]] for i in reversed(range(len(new), len(old)))]
        both_ = [_reshape(old[i], new[i], [*path, i], edits) for i in range(min(len(old), len(new)))]
        edits += [[[*path, i], new[i]] for i in range(len(old), len(new))]
        return both_ + new[len(old) :]
    if _is_container(old) or _is_container(new):
        edits.append([path, new])
        return new
    return old


def _edited(value: Any, edits: Iterable[Sequence[Any]]) -> Any:
    """Return a copy of the value with the edits applied.

    The copy shares the parts that didn't change with the original.
    """
    root = {"": value}
    for path, *put in edits:
        container: Any = root
        keys: list[Any] = ["", *path]
        last = keys.pop()
        for key in keys:
            container[key] = container[key].copy()
            container = container[key]
        if not put:
            del container[last]
        elif isinstance(container, list) and last == len(container):
            container.append(put[0])
        else:
            container[last] = put[0]
    return root[""]


def delta_message(kind: str, station: str, step: int, count: int, changes: Changes) -> bytes:
    """Encode a delta message of a type in `DELTA_TYPES`.

    `step` is the difference between its offset and the previous message's.
    """
    return _pack([station, DELTA_TYPES.index(kind), step, count, *changes.parts()])


class _Before(NamedTuple):
    """The newest message of one type and station, which the next delta refers to."""

    envelope: Mapping[str, Any]
    image: Image


class DeltaDecoder:
    """Turns deltas back into whole messages, so that you get the same messages that `slpstream.v1.msgpack` would have
    sent.

    Use one decoder for each connection, and pass it all messages in the order in which they arrive.
    """

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], _Before] = {}

    def decode(self, data: bytes) -> dict[str, Any]:
        """Decode a message and return it as a whole.

        Raises `ProtocolViolation` if the data is invalid, or if it is a delta and the message that it refers to is
        missing.
        """
        message = read_messagepack(data, lambda what: ProtocolViolation(f"not a message: {what}"))
        if isinstance(message, list):
            return self._apply(message)
        if not isinstance(message, dict) or "type" not in message:
            raise ProtocolViolation("a message is a map, or an array")
        if message["type"] in DELTA_TYPES:
            envelope = {key: message[key] for key in message if key in _ENVELOPE}
            try:
                image = Image({key: message[key] for key in message if key not in _ENVELOPE})
                self._before[message.get("station", ""), message["type"]] = _Before(envelope, image)
            except (TypeError, RecursionError) as error:  # keys of several types, or a station that is a container
                raise ProtocolViolation(f"not a message as in JSON: {error}") from None
        return message

    def _apply(self, delta: list[Any]) -> dict[str, Any]:
        try:
            station, type_, step, count, *parts = delta
            before = self._before[station, DELTA_TYPES[type_]]
            game, _, place = before.envelope["cursor"].partition("/")
            offset = int(place[1:].partition(".")[0]) + step
        except _WRONG as error:
            raise ProtocolViolation(f"a delta without the message before it: {error!r}") from None
        image = before.image.changed(parts)
        envelope = {**before.envelope, "cursor": f"{game}/{place[0]}{offset}.{count}"}
        self._before[station, DELTA_TYPES[type_]] = _Before(envelope, image)
        return {**envelope, **image.value}
