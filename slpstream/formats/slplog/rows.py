"""The rows of a block: all events of one command, of one player where it has one, as a matrix of bytes; how they stand
to each other, and how a column of them is coded.

A `Method` codes one column. It sees the columns that the plan has before it, and the rows of other groups that were
coded before; the decoder has the same by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from slpstream.formats.slplog import predict
from slpstream.formats.slplog.planes import PartsReader, PartsWriter, from_octets, to_octets

NOWHERE = -1


class Rows:
    """The events of one kind in a block, in the order of the file."""

    def __init__(self, key: int, width: int, units: Sequence[int], frames: Sequence[int]) -> None:
        """`width`: bytes of an event. `units`: for each row the place of its frame in the block; `frames`: the frame
        numbers of all these places."""
        self.key = key
        self.width = width
        self.units = units
        self.frames = frames
        self.count = len(units)
        self.matrix = bytearray()
        self.parents: Sequence[int] | None = None
        """Of each row the place of its parent, counted from 1, 0 for none; `None` when the rows follow each other."""
        self.values: dict[int, list[int]] = {}
        """Columns by their offset, so far as they are coded."""
        self.posts: Rows | None = None
        """Of pre-frames: the post-frames of the same character, where there are any."""
        self._states: list[int] | None = None

    def own(self, offset: int) -> list[int] | None:
        """A column of these rows; `None` when their events are too short for it."""
        return self.values.get(offset)

    def own_frames(self) -> list[int]:
        """The frame number of each row."""
        return [self.frames[unit] for unit in self.units]

    def own_frames_as_words(self) -> list[int]:
        """The same, as a file has them."""
        return [frame & predict.WORD for frame in self.own_frames()]

    def last_state(self, offset: int) -> list[int]:
        """For each row the value of a column of `posts` in the frame before; where that is not in the block, of the
        same frame; else 0."""
        posts = self.posts
        if posts is None or offset not in posts.values:
            return [0] * self.count
        if self._states is None:
            self._states = self._find_states(posts)
        padded = [*posts.values[offset], 0]
        return [padded[row] for row in self._states]

    def _find_states(self, posts: Rows) -> list[int]:
        seen: dict[int, int] = {}
        found, next_row, units, frames = [], 0, posts.units, self.frames
        for unit in self.units:
            while next_row < len(units) and units[next_row] < unit:
                seen[frames[units[next_row]]] = next_row
                next_row += 1
            here = next_row if next_row < len(units) and units[next_row] == unit else NOWHERE
            found.append(seen.get(frames[unit] - 1, here))
        return found


def frame_parents(rows: Rows) -> Sequence[int] | None:
    """A row's parent is the last one of the frame number before its own, else the row before: after a rollback the
    frames go on from where they went back to."""
    frames = rows.own_frames()
    if not frames or frames == list(range(frames[0], frames[0] + len(frames))):
        return None
    last: dict[int, int] = {}
    parents = []
    for row, frame in enumerate(frames):
        parents.append(last.get(frame - 1, row))
        last[frame] = row + 1
    return parents


def same_parents(identities: Sequence[int]) -> Sequence[int]:
    """A row's parent is the last one of the same thing, else the row before."""
    last: dict[int, int] = {}
    parents = []
    for row, identity in enumerate(identities):
        parents.append(last.get(identity, row))
        last[identity] = row + 1
    return parents


class Method(Protocol):
    """How a column of `width` bytes is coded."""

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """Writes the values of a column."""

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """Reads them."""


class Delta:
    """The difference to the parent, less a step that is expected of each row."""

    def __init__(self, expected: int = 0) -> None:
        self.expected = expected

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """As in `Method`."""
        mask, by = (1 << 8 * width) - 1, self.expected
        before = predict.parents_of(values, rows.parents)
        parts.put_values([(a - b - by) & mask for a, b in zip(values, before, strict=True)], width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """As in `Method`."""
        mask, by = (1 << 8 * width) - 1, self.expected
        return predict.undo_delta([d + by for d in parts.take_values(rows.count, width)], rows.parents, mask)


class Same:
    """The bits that differ from the parent's."""

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """As in `Method`."""
        before = predict.parents_of(values, rows.parents)
        parts.put_values([a ^ b for a, b in zip(values, before, strict=True)], width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """As in `Method`."""
        return predict.undo_xor(parts.take_values(rows.count, width), rows.parents)


class Stepped:
    """A float that goes from row to row by a step."""

    def __init__(self, step_of: Callable[[Rows], predict.Step]) -> None:
        self._step_of = step_of

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """As in `Method`."""
        guessed = predict.stepped(values, rows.parents, self._step_of(rows))
        parts.put_values(predict.float_differences(values, guessed), width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """As in `Method`."""
        differences = parts.take_values(rows.count, width)
        return predict.undo_steps(differences, rows.parents, self._step_of(rows))


class Float:
    """A float that is predicted beforehand: by default, that it stands."""

    def __init__(self, guess: Callable[[Rows], list[int]]) -> None:
        self._guess = guess

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """As in `Method`."""
        parts.put_values(predict.float_differences(values, self._guess(rows)), width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """As in `Method`."""
        return predict.from_float_differences(parts.take_values(rows.count, width), self._guess(rows))


class Bits:
    """An integer that is predicted beforehand: the bits that differ."""

    def __init__(self, guess: Callable[[Rows], list[int]]) -> None:
        self._guess = guess

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """As in `Method`."""
        parts.put_values([a ^ b for a, b in zip(values, self._guess(rows), strict=True)], width)

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """As in `Method`."""
        return [a ^ b for a, b in zip(parts.take_values(rows.count, width), self._guess(rows), strict=True)]


class Grid:
    """A float that is nearly always a step of a grid: one byte, less the guess; what is off the grid stands beside."""

    def __init__(self, grid: predict.GridOf, guess: Callable[[Rows], list[int]] | None = None) -> None:
        self.grid = grid
        self._guess = guess

    def put(self, rows: Rows, values: list[int], width: int, parts: PartsWriter) -> None:
        """As in `Method`."""
        codes, escaped = predict.on_grid(values, self.grid)
        if self._guess is not None:
            codes = [(a - b) & 0xFF for a, b in zip(codes, self._guess(rows), strict=True)]
        parts.put_values(codes, 1)
        parts.put(to_octets(escaped, 4))

    def take(self, rows: Rows, width: int, parts: PartsReader) -> list[int]:
        """As in `Method`."""
        codes = parts.take_values(rows.count, 1)
        if self._guess is not None:
            codes = [(a + b) & 0xFF for a, b in zip(codes, self._guess(rows), strict=True)]
        patterns, escape = self.grid.patterns, self.grid.escape
        escaped = iter(from_octets(parts.take(4 * codes.count(escape)), 4))
        return [next(escaped) if code == escape else patterns[code] for code in codes]


class Column(NamedTuple):
    """Where a column is in the event, how wide, and how it is coded."""

    offset: int
    width: int
    method: Method
