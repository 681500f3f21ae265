from collections.abc import Sequence
from typing import Any

from typing_extensions import Buffer

class Template:
    """A text with values of a frame in between.

    `form` is "json" or "msgpack". A part is a literal, and the kind and the offset of the value after it: a letter of
    `struct`, or `n` for the number that is given to `render`, or `.` for no value.
    """

    def __new__(cls, form: str, parts: tuple[tuple[bytes, bytes, int], ...]) -> Template: ...
    def render(self, data: bytes, start: int, number: int, /) -> bytes:
        """The text with the values of the frame at `start`. Raises `ValueError` if the data ends inside of it."""

class Matcher:
    """Compares frames with a layout: `width` bytes, with the `expected` bytes at the offsets `checked`, and the same
    frame number at all offsets `numbers`."""

    def __new__(cls, width: int, checked: Sequence[int], expected: bytes, numbers: Sequence[int]) -> Matcher: ...
    def match(self, data: bytes, start: int, /) -> int | None:
        """The number of the frame at `start`; `None` if it has another layout, or is not whole."""

class Walk:
    """The events of all frames of a game, found event by event up to the first that is not declared or not whole.

    `widths` has the 256 widths of events by command byte, 0 for a command at which the walk ends. `rules` has a byte
    for each command, the effect of its events on their sending:

    - space: no frame number, and a sending does not begin with it; `.`: no frame number;
    - `s` begins a sending, `e` ends it;
    - `k` is of a character, and begins a sending if the character has been in this one; `l` is of a character, and
      replaces the one before it in the same sending;
    - `0` to `9`: a sending can have any number of them, of which the first `max_counted` with the same digit count.

    `places` has the offsets of frame number, player index and follower flag in an event. With more than `max_offsets`,
    counted as slots times sendings, the offsets are not kept.

    `players` is for games whose sendings have no last event, and `None` in others. A sending is then complete when
    each of its characters has its `l`, and none of the sending before is missing; events of it that come later do not
    count. The first sending should have the players with the indices `players`.
    """

    stop: int
    """Where the walk ended."""

    def __new__(
        cls,
        data: bytes,
        start: int,
        limit: int,
        widths: list[int],
        rules: bytes,
        places: tuple[int, int, int],
        max_counted: int,
        max_offsets: int,
        players: bytes | None,
    ) -> Walk: ...
    def finish(self, keep_open: bool, /) -> tuple[int, int, int, _Arrays | None]:
        """Start of the first sending, number of sendings, number of slots, and the arrays: frame numbers (32 bits);
        command, player index, follower flag and offsets of each slot; command, offsets and firsts of each kind of event
        that a sending can have any number of (64 bits). `None` instead of more than `max_offsets`.

        `keep_open` keeps the last sending even if it has no end and is not complete. Can be called once."""

class Table:
    """The columns of an Arrow table, each with its source, type (a letter of `struct`) and offset.

    Sources are the events by number; after them, the values that are given; -1 for a column without values. If there
    are any `wanted` events, a row needs one of them to be in the table.
    """

    def __new__(
        cls, columns: tuple[tuple[int, bytes, int], ...], events: int, given: int, wanted: tuple[int, ...]
    ) -> Table: ...
    def fill(
        self, data: bytes, groups: tuple[_Group, ...], selection: tuple[int, Buffer] | None, /
    ) -> tuple[int, object]:
        """The address of an `ArrowArray` of the Arrow C data interface, and the object that frees it.

        A group has the number of its rows; for each event the offsets in `data`, 64 bits each and negative for an
        absent event, or `None` if it is absent in all rows; and each of the given values for every row, or one for all.
        A `selection` has the number of offsets of each event, and which of them each row has (64 bits); without one,
        rows and offsets are the same. Raises `ValueError` for buffers of another size, for a selection index
        out of range, and for an event outside of `data`."""

_Group = tuple[int, tuple[Buffer | None, ...], tuple[Buffer, ...]]
_Arrays = tuple[bytearray, list[tuple[int, int, bool, Any]], list[tuple[int, Any, Any]]]
