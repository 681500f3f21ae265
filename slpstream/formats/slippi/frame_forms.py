"""Messages of frames, which the compiled kernel makes directly from the bytes of the file.

A template of the kernel is a text with values of the frame in between. To make one, we encode a frame in the ordinary
way, but with a mark instead of each value, and then split the result at the marks. This means that names, order and
nesting come from the same classes as without the kernel, even if a message is cut down to some fields.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from slpstream.formats.kernel import kernel
from slpstream.model.events import Form
from slpstream.model.messages import cut_entry

_KINDS = frozenset("BbHhIif?")
"""The types that the kernel knows, by their letters in `struct`."""
_NUMBER, _NOTHING = b"n", b"."
_VALUE_BYTES = 20
"""The approximate size of a value as JSON, with its name."""
MAX_CUT_TEMPLATES = 16
"""The limit for one layout, of messages cut down to some fields. A subscriber can ask for any choice of fields."""
_MISSES_PER_TEMPLATE = 64
"""Making a template takes as long as cutting down five messages without one, and as rendering fifty with it. If there
are more choices than templates, a new template replaces the oldest one only this often."""

_Part = tuple[bytes, bytes, int]

MakeEntry = Callable[[Sequence[Any], Any], Any]
"""Makes the frame of a layout from its values and its revision."""


class Value(NamedTuple):
    """Where a value is in a frame. It consists of the `struct` code and the offset from the start of the frame."""

    code: str
    offset: int


class FrameForms:
    """The templates for messages of all frames with the same layout."""

    def __init__(self, values: Sequence[Value]) -> None:
        self._values = values
        self._templates: dict[tuple[Form, tuple[str, ...] | None], Any] = {}
        # All games with frames of this layout share the templates, and games are read in threads, too.
        self._lock = Lock()
        self._cut: deque[tuple[Form, tuple[str, ...]]] = deque()
        """The keys of the templates for some fields, oldest first."""
        self._misses = 0
        self.json_bytes = _VALUE_BYTES * len(values)
        """The approximate size of a message."""

    def template(self, form: Form, fields: tuple[str, ...] | None, entry: MakeEntry) -> Any:
        """Return the template for a message, which can be whole or cut down to some fields.

        Without the kernel, this is `None`. It is also `None` if there's no template for these fields at the moment.
        """
        template = self._templates.get((form, fields))  # sixty times a second
        if template is not None or kernel is None or not all(value.code in _KINDS for value in self._values):
            return template
        with self._lock:
            template = self._templates.get((form, fields))
            if template is not None:
                return template  # another thread made it meanwhile
            if fields is not None:
                if len(self._cut) >= MAX_CUT_TEMPLATES:
                    self._misses += 1
                    if self._misses % _MISSES_PER_TEMPLATE:
                        return None
                    del self._templates[self._cut.popleft()]
                self._cut.append((form, fields))
            template = self._templates[form, fields] = kernel.Template(form, self._parts(form, fields, entry))
        return template

    def _parts(self, form: Form, fields: tuple[str, ...] | None, entry: MakeEntry) -> tuple[_Part, ...]:
        marks = [_mark(index) for index in range(len(self._values) + 1)]
        frame = msgspec.json.decode(msgspec.json.encode(entry(marks[:-1], marks[-1])))
        frame = frame if fields is None else cut_entry(frame, fields)
        encode, pattern = _FORMS[form]
        # Without the byte that opens the object: the envelope of the message comes before.
        pieces = pattern.split(encode({"frame": frame})[1:])
        sources = [(value.code.encode(), value.offset) for value in self._values]
        sources.append((_NUMBER, 0))
        parts = [(literal, *sources[int(index)]) for literal, index in zip(pieces[::2], pieces[1::2], strict=False)]
        return (*parts, (pieces[-1], _NOTHING, 0))


def _mark(index: int) -> str:
    return f"<{index:04}>"


_FORMS: Mapping[Form, tuple[Callable[[Any], bytes], re.Pattern[bytes]]] = {
    "json": (msgspec.json.encode, re.compile(rb'"<([0-9]{4})>"')),
    "msgpack": (msgspec.msgpack.encode, re.compile(rb"\xa6<([0-9]{4})>")),
}
"""How a form is encoded, and how the marks look in it."""
