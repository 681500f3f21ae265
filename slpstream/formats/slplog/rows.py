"""The rows of a block, and how their columns are coded. These are all events of one command and, if it has a player, of
one player.

A `Method` codes one column. It can use all columns that come before it in the plan, and all groups of rows that were
coded before. This works because when the decoder reads the column, it has these too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slpstream.formats.slplog import predict
from slpstream.formats.slplog.byte_planes import PartsReader, PartsWriter, from_octets, to_octets

_NO_ROW = -1


class Rows:
    """All events in a block that have the same key, in the order of the file.

    `width` is how many bytes an event has. For each row, `units` contains the index of its unit in the block. `frames`
    are the frame numbers of all units in the block.
    """

    def __init__(self, key: int, width: int, units: Sequence[int], frames: Sequence[int]) -> None:
        self.key = key
        self.width = width
        self.units = units
        self.frames = frames
        self.count = len(units)
        self.matrix = bytearray()
        self.parents: Sequence[int] | None = None
        """The index of each row's parent, counted from 1, with 0 for no parent. `None`: each row's parent is the row
        before."""
        self.values: dict[int, list[int]] = {}
        """The columns that have been coded, by offset."""
        self.posts: Rows | None = None
        """For Pre-Frame Updates, the Post-Frame Updates of the same character, if the block has any."""
        self._previous_posts: list[int] | None = None

    def column(self, offset: int) -> list[int] | None:
        """Return the column at an offset. If the events are too short for it, this returns `None`."""
        return self.values.get(offset)

    def frame_numbers(self) -> list[int]:
        """Return the frame number of each row."""
        return [self.frames[unit] for unit in self.units]

    def frame_words(self) -> list[int]:
        """Return the frame numbers as unsigned 32-bit integers."""
        return [frame & predict.WORD for frame in self.frame_numbers()]

    def previous_post(self, offset: int) -> list[int]:
        """For each row, return the value that a column of `posts` had in the frame before.

        If the block doesn't have that frame, you get the value of the row's own frame, or else 0.
        """
        posts = self.posts
        if posts is None or offset not in posts.values:
            return [0] * self.count
        if self._previous_posts is None:
            self._previous_posts = self._find_previous(posts)
        padded = [*posts.values[offset], 0]
        return [padded[row] for row in self._previous_posts]

    def _find_previous(self, posts: Rows) -> list[int]:
        seen: dict[int, int] = {}
        found, next_row, units, frames = [], 0, posts.units, self.frames
        for unit in self.units:
            while next_row < len(units) and units[next_row] < unit:
                seen[frames[units[next_row]]] = next_row
                next_row += 1
            here = next_row if next_row < len(units) and units[next_row] == unit else _NO_ROW
            found.append(seen.get(frames[unit] - 1, here))
        return found


def frame_parents(rows: Rows) -> Sequence[int] | None:
    """Return the parents of rows that have frame numbers. If each row's parent is simply the row before, this returns
    `None`.

    The parent is the last row with the frame number before, or if there's none, the row before. This means that after a
    rollback, frames continue from the frame to which it went back.
    """
    frames = rows.frame_numbers()
    if not frames or frames == list(range(frames[0], frames[0] + len(frames))):
        return None
    last: dict[int, int] = {}
    parents = []
    for row, frame in enumerate(frames):
        parents.append(last.get(frame - 1, row))
        last[frame] = row + 1
    return parents


def same_parents(identities: Sequence[int]) -> Sequence[int]:
    """Return the parents of rows of items or platforms.

    This is the last row with the same identity, or else the row before.
    """
    last: dict[int, int] = {}
    parents = []
    for row, identity in enumerate(identities):
        parents.append(last.get(identity, row))
        last[identity] = row + 1
    return parents


class Method(Protocol):
    """A way to code a column. Its values have `width` bytes."""

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """Write the values of a column."""

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """Read the values of a column."""


class Delta:
    """Codes how much a value differs from the parent's value, minus a step that we expect."""

    def __init__(self, expected: int = 0) -> None:
        self.expected = expected

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """See `Method`."""
        mask, step = (1 << 8 * width) - 1, self.expected
        before = predict.parents_of(values, rows.parents)
        parts.put_values([(a - b - step) & mask for a, b in zip(values, before, strict=True)], width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """See `Method`."""
        mask, step = (1 << 8 * width) - 1, self.expected
        return predict.undo_delta([d + step for d in parts.take_values(rows.count, width)], rows.parents, mask)


class Same:
    """Codes the bits in which a value differs from the parent's value."""

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """See `Method`."""
        before = predict.parents_of(values, rows.parents)
        parts.put_values([a ^ b for a, b in zip(values, before, strict=True)], width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """See `Method`."""
        return predict.undo_xor(parts.take_values(rows.count, width), rows.parents)


class Stepped:
    """Codes a float. It is predicted from its parent and grandparent by a step function."""

    def __init__(self, step_of: Callable[[Rows], predict.Step]) -> None:
        self._step_of = step_of

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """See `Method`."""
        guessed = predict.stepped(values, rows.parents, self._step_of(rows))
        parts.put_values(predict.float_differences(values, guessed), width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """See `Method`."""
        differences = parts.take_values(rows.count, width)
        return predict.undo_steps(differences, rows.parents, self._step_of(rows))


class Float:
    """Codes a float that we predict from other columns."""

    def __init__(self, guess: Callable[[Rows], list[int]]) -> None:
        self._guess = guess

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """See `Method`."""
        parts.put_values(predict.float_differences(values, self._guess(rows)), width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """See `Method`."""
        return predict.from_float_differences(parts.take_values(rows.count, width), self._guess(rows))


class Bits:
    """Codes an integer that we predict from other columns, by storing the bits that differ."""

    def __init__(self, guess: Callable[[Rows], list[int]]) -> None:
        self._guess = guess

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """See `Method`."""
        parts.put_values([a ^ b for a, b in zip(values, self._guess(rows), strict=True)], width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """See `Method`."""
        return [a ^ b for a, b in zip(parts.take_values(rows.count, width), self._guess(rows), strict=True)]


class Grid:
    """Codes a float that is nearly always on a grid. It takes one byte for the step, minus the guess.

    If values aren't on the grid, they come after that as a list.
    """

    def __init__(self, grid: predict.GridOf, guess: Callable[[Rows], list[int]] | None = None) -> None:
        self.grid = grid
        self._guess = guess

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """See `Method`."""
        codes, escaped = predict.on_grid(values, self.grid)
        if self._guess is not None:
            codes = [(a - b) & 0xFF for a, b in zip(codes, self._guess(rows), strict=True)]
        parts.put_values(codes, 1)
        parts.put(to_octets(escaped, 4))

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """See `Method`."""
        codes = parts.take_values(rows.count, 1)
        if self._guess is not None:
            codes = [(a + b) & 0xFF for a, b in zip(codes, self._guess(rows), strict=True)]
        patterns, escape = self.grid.patterns, self.grid.escape
        escaped = iter(from_octets(parts.take(4 * codes.count(escape)), 4))
        return [next(escaped) if code == escape else patterns[code] for code in codes]


class Column(NamedTuple):
    """A column. It knows its offset in the event, how many bytes its values have, and how they are coded."""

    offset: int
    width: int
    method: Method
