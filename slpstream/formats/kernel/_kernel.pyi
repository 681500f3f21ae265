from collections.abc import Sequence

class Template:
    """A text with values of a frame in between.

    `form` is "json" or "msgpack". A part is a literal, and the kind and the offset of the value after it: a letter of
    `struct`, or `n` for the number that is given to `render`, or `.` for none.
    """

    def __new__(cls, form: str, parts: tuple[tuple[bytes, bytes, int], ...]) -> Template: ...
    def render(self, data: bytes, start: int, number: int, /) -> bytes:
        """The text with the values of the frame at `start`. Raises `ValueError` if the data ends inside of it."""

class Matcher:
    """Whether a frame has a layout: `width` bytes, with the `expected` bytes at the offsets `checked`, and the same
    frame number at all offsets `numbers`."""

    def __new__(cls, width: int, checked: Sequence[int], expected: bytes, numbers: Sequence[int]) -> Matcher: ...
    def match(self, data: bytes, start: int, /) -> int | None:
        """The number of the frame at `start`; `None` if it has another layout, or is not whole."""
