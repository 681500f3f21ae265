"""Field tables, which describe events, and the `struct` layouts and event classes that we make from them.

Each event of a format is described by one declarative table of `Field` rows. Everything else comes from these rows: the
decoder (a `struct.Struct` and a msgspec class), the encoder, the names in messages and the reference page. This means
that they can't drift apart.

**Presence follows the declared size.** A field exists if `offset + width <= declared payload size + 1`. Here, offsets
count from the command byte, but the declared size does not include it. A `Layout` is a table that was cut at one
declared size. Fields beyond the cut keep the value `UNSET`, which tells the encoders to leave them out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from slpstream.model.errors import FieldError

Decode = Callable[[bytes, int], Any]
"""(buffer, offset of the command byte) to an event."""


_KEPT_LAYOUTS = 64
"""Number of layouts that a table caches: more than versions exist. A damaged file can declare any of 65,536 sizes."""


class Kind(NamedTuple):
    """The type of a field: its name in the reference, its `struct` code, its width in bytes, and its numpy code."""

    name: str
    code: str
    width_bytes: int
    numpy: str


U8 = Kind("u8", "B", 1, "u1")
I8 = Kind("i8", "b", 1, "i1")
U16 = Kind("u16", "H", 2, ">u2")
I16 = Kind("i16", "h", 2, ">i2")
U32 = Kind("u32", "I", 4, ">u4")
I32 = Kind("i32", "i", 4, ">i4")
F32 = Kind("f32", "f", 4, ">f4")
BOOL = Kind("bool", "?", 1, "?")


def octets(count: int) -> Kind:
    """Return the type of a field that consists of `count` opaque bytes."""
    return Kind(f"u8[{count}]", f"{count}s", count, f"V{count}")


class Field(NamedTuple):
    """One row of a table. It serves as documentation, as input of the decoder and as the subject of a test.

    `offset` is counted from the command byte. If `name` contains a dot, the value goes into a nested object. If a row
    stands for all four players, `stride_bytes` is the distance between the values of one player and the next. `since`
    is the first version that has the field. `sure` tells you how well the field is known, and is either `documented`,
    `observed` or `guessed`.
    """

    name: str
    offset: int
    kind: Kind
    since: str
    doc: str
    unit: str = ""
    stride_bytes: int = 0
    sure: str = "documented"

    @property
    def end(self) -> int:
        """The offset just after the field."""
        return self.offset + self.kind.width_bytes

    @property
    def wire_name(self) -> str:
        """The name that the field has in messages. It is written in camelCase, as in slippi-js."""
        return ".".join(camel(part) for part in self.name.split("."))


def camel(snake: str) -> str:
    """Convert a name to camelCase. For example, `hitlag_remaining` becomes `hitlagRemaining`."""
    first, *rest = snake.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class Group(NamedTuple):
    """A nested object of a table: its class, and the rows that it is made of, which are `start` to `stop - 1`.

    There is never more than one in an event.
    """

    cls: type[Any]
    start: int
    stop: int


class Layout:
    """A table that was cut at one declared payload size, and that decodes payloads of exactly this size."""

    def __init__(self, table: Table, payload_size_bytes: int) -> None:
        self.table = table
        self.payload_size_bytes = payload_size_bytes
        self.fields = tuple(f for f in table.fields if f.end <= payload_size_bytes + 1)
        self.too_small = len(self.fields) < table.required
        """Whether the declared size lacks required fields, so that the event cannot be decoded."""
        self.missing = tuple(f.name for f in table.fields[len(self.fields) :] if f.since == table.since)
        """The fields that every version has and the declared size lacks."""
        self.kinds = {f.name: f.kind for f in self.fields}
        """The type of each field, by field name."""
        self.struct = _struct_of(self.fields)
        self.group = self._find_group()
        self.make = _maker_of(table.cls, self.group)
        """Makes the event from the values of `fields`."""
        self.decode: Decode = self._decoder()

    def dtype(self) -> dict[str, Any]:
        """Return the arguments that you need to make a numpy dtype in which each item is as wide as the event."""
        return {
            "names": [f.name for f in self.fields],
            "formats": [f.kind.numpy for f in self.fields],
            "offsets": [f.offset for f in self.fields],
            "itemsize": self.payload_size_bytes + 1,
        }

    def _decoder(self) -> Decode:
        if self.too_small:
            return self._refuse
        make, unpack = self.make, self.struct.unpack_from
        return lambda buffer, offset: make(unpack(buffer, offset + 1))

    def _find_group(self) -> Group | None:
        nested = [i for i, f in enumerate(self.fields) if "." in f.name]
        if not nested:
            return None
        name = self.fields[nested[0]].name.partition(".")[0]
        return Group(self.table.groups[name], nested[0], nested[-1] + 1)

    def size_error(self, offset: int) -> FieldError:
        """Return the error to raise for an event at `offset` whose declared size is `too_small`."""
        what = f"{self.table.title}: the declared size of {self.payload_size_bytes} bytes is too small"
        return FieldError(what, offset=offset, command=self.table.command)

    def _refuse(self, buffer: bytes, offset: int) -> Any:
        raise self.size_error(offset)


class Table:
    """All rows of one event, in the order of their offsets.

    An event can only be decoded if its declared size includes the first `required` rows. By default, these are the rows
    that the oldest version has. Any other row can be absent.
    """

    def __init__(
        self,
        title: str,
        command: int,
        fields: Sequence[Field],
        *,
        doc: str,
        required: int | None = None,
        kind: str | None = None,
    ) -> None:
        self.title = title
        self.command = command
        self.kind = kind
        """The `kind` that these events have in messages, if they share an array with others."""
        self.since = fields[0].since
        self.doc = doc
        self.fields = tuple(fields)
        self.required = sum(1 for f in self.fields if f.since == self.since) if required is None else required
        self.groups = _group_classes(title, self.fields)
        self.cls = _event_class(title, self.fields, self.groups, doc, kind)
        # Worker threads decode files too, and `lru_cache` is thread-safe.
        self._layouts = lru_cache(maxsize=_KEPT_LAYOUTS)(partial(Layout, self))

    def layout(self, payload_size_bytes: int) -> Layout:
        """Return the layout for a declared payload size, which can be anything from 0 to 65,535."""
        return self._layouts(payload_size_bytes)


def parse_version(text: str) -> tuple[int, int, int]:
    """Parse a version. For example, `"3.7.0"` becomes `(3, 7, 0)`."""
    major, minor, build = (int(part) for part in text.split("."))
    return major, minor, build


def _struct_of(fields: Sequence[Field]) -> struct.Struct:
    codes, offset = [">"], 1
    for field in fields:
        codes.append("x" * (field.offset - offset) + field.kind.code)
        offset = field.end
    return struct.Struct("".join(codes))


def _maker_of(cls: type[Any], group: Group | None) -> Callable[[Sequence[Any]], Any]:
    if group is None:
        return lambda values: cls(*values)
    inner, start, stop = group
    return lambda values: cls(*values[:start], inner(*values[start:stop]), *values[stop:])


def _group_classes(title: str, fields: Sequence[Field]) -> dict[str, type[Any]]:
    members: dict[str, list[str]] = {}
    for field in fields:
        group, dot, member = field.name.partition(".")
        if dot:
            members.setdefault(group, []).append(member)
    return {
        group: msgspec.defstruct(
            title.replace(" ", "").replace("-", "") + group.title().replace("_", ""),
            [(name, Any, UNSET) for name in names],
            rename=_wire_names(names),
            frozen=True,
            gc=False,
            module=__name__,
        )
        for group, names in members.items()
    }


def _event_class(
    title: str, fields: Sequence[Field], groups: Mapping[str, type[Any]], doc: str, kind: str | None
) -> type[Any]:
    names = list(dict.fromkeys(field.name.partition(".")[0] for field in fields))
    return msgspec.defstruct(
        title.replace(" ", "").replace("-", ""),
        # A nested object without any present field is an empty object, as in slippi-js.
        [(name, Any, groups[name]() if name in groups else UNSET) for name in names],
        rename=_wire_names(names),
        gc=False,
        module=__name__,
        namespace={"__doc__": doc, "kind": kind},
        tag=kind,
        tag_field=None if kind is None else "kind",
    )


def _wire_names(names: Sequence[str]) -> dict[str, str]:
    return {name: camel(name) for name in names}
