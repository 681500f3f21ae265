"""Read training sets. You get windows of frames, which can be shuffled across all shards, and nothing is copied.

You don't need anything but numpy and pyarrow for this module. Shards are Arrow IPC files without compression, so we map
them into memory, and a window is just a view of the mapped bytes:

    from slpstream.parts.training.windows import TrainingSet

    data = TrainingSet("shards")
    for window in data.windows(64, seed=1):
        window["p0_post_percent"]           # float32 of shape (64,)
    for batch in data.batches(64, 256, columns=["p0_post_position_x", "p0_pre_joystick_x"], seed=1):
        batch["p0_pre_joystick_x"]          # float32 of shape (256, 64)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slpstream.parts.training.names import INDEX

WINDOWS_AT_ONCE = 1 << 16
"""Number of windows converted to Python numbers at a time. These take ten times the memory of numpy's."""
Array = npt.NDArray[Any]


class IncompleteSet(Exception):
    """Raised if there's no finished training set of shards in the folder. The message tells you how to fix this."""


class Game(NamedTuple):
    """One game of a training set."""

    game_id: str
    shard: str
    """File name of the shard."""
    batch: int
    """Number of the record batch in its shard."""
    frames: int
    split: str
    """`train` or `validation`."""
    facts: Mapping[str, Any]
    """The entry of the game in `index.json`."""


class _Columns(NamedTuple):
    """The columns of one game."""

    matrices: list[Array]
    """One matrix for each type; a column is a row of it."""
    place: Mapping[str, tuple[int, int]]
    """The matrix and the row of each column, by its name."""


class Window:
    """Some frames of one game that follow each other.

    Nothing is copied, because the columns are views of the mapped shard.
    """

    __slots__ = ("_columns", "frames", "game", "start")

    def __init__(self, game: Game, columns: _Columns, start: int, frames: int) -> None:
        self.game = game
        self._columns = columns
        self.start = start
        """The row of the game with which the window begins."""
        self.frames = frames
        """The number of frames."""

    def __getitem__(self, name: str) -> Array:
        """Return a column. Its shape is (frames,). Raises `KeyError` if there's no column with the given name."""
        matrix, row = self._columns.place[name]
        return self._columns.matrices[matrix][row, self.start : self.start + self.frames]

    @property
    def matrices(self) -> list[Array]:
        """Return all columns.

        For each type, there is one matrix of shape (columns, frames). To find a column in it, see
        `TrainingSet.columns_by_type`.
        """
        end = self.start + self.frames
        return [matrix[:, self.start : end] for matrix in self._columns.matrices]


class TrainingSet:
    """A folder that was written by `slpstream export --to training`."""

    def __init__(self, folder: str | Path, *, split: str | None = None) -> None:
        """Use `split` to select either `train` or `validation`. By default, you get both.

        Raises `IncompleteSet` if the export has not finished, and `OSError` if the folder can't be read.
        """
        self.folder = Path(folder)
        try:
            content = json.loads((self.folder / INDEX).read_bytes())
        except FileNotFoundError:
            raise IncompleteSet(f"{self.folder}: no {INDEX}; run the export again, it goes on where it was") from None
        if content["layout"] != "training":
            raise IncompleteSet(f"{self.folder}: files in the layout of {content['layout']}, which has no shards")
        self.description: dict[str, Any] = {key: value for key, value in content.items() if key != "games"}
        """The facts about the whole set in `index.json`."""
        self.games = [
            Game(game["gameId"], game["shard"], game["batch"], game["frames"], game["split"], game)
            for game in content["games"]
            if split is None or game["split"] == split
        ]
        self._shards: dict[str, pa.RecordBatchFileReader] = {}
        self._opened: dict[int, _Columns] = {}

    @property
    def frames(self) -> int:
        """How many frames all games have together."""
        return sum(game.frames for game in self.games)

    @cached_property
    def columns_by_type(self) -> list[list[str]]:
        """The names of the columns in each matrix that you get from `Window.matrices`."""
        if not self.games:
            return []
        schema = self._shard(self.games[0].shard).schema
        return [[schema.field(index).name for index in members] for members in _by_type(schema)]

    def game(self, number: int) -> Window:
        """Return a whole game as one window, by its place in `games`."""
        return Window(self.games[number], self._columns(number), 0, self.games[number].frames)

    def windows(self, frames: int, *, stride: int | None = None, seed: int | None = None) -> Iterator[Window]:
        """Iterate over all windows of `frames` frames. You get each of them once. If a game is shorter than that, it
        doesn't have any.

        A window begins every `stride` frames. By default, this is chosen so that they don't overlap. If you pass a
        seed, the windows are shuffled over all games and shards, and the first window of each game begins at a random
        frame below `stride`. With the same seed, you get the same windows again. Without a seed, they are in the order
        of the set.
        """
        numbers, starts = self._all_windows(frames, stride or frames, seed)
        games = self.games
        opened: list[_Columns | None] = [None] * len(games)
        for first in range(0, len(numbers), WINDOWS_AT_ONCE):
            some = slice(first, first + WINDOWS_AT_ONCE)
            for number, start in zip(numbers[some].tolist(), starts[some].tolist(), strict=True):
                found = opened[number]
                if found is None:
                    found = opened[number] = self._columns(number)
                yield Window(games[number], found, start, frames)

    def batches(
        self,
        frames: int,
        size: int,
        *,
        columns: Sequence[str],
        stride: int | None = None,
        seed: int | None = None,
    ) -> Iterator[dict[str, Array]]:
        """Like `windows`, but you get `size` windows at a time, in new arrays of shape (size, frames).

        If the last few windows don't fill a batch, they are left out. You should only select those columns that you
        need, because the more there are, the longer it takes.
        """
        numbers, starts = self._all_windows(frames, stride or frames, seed)
        for first in range(0, len(numbers) - size + 1, size):
            chosen = slice(first, first + size)
            yield self._stacked(numbers[chosen], starts[chosen], frames, columns)

    def _stacked(self, numbers: Array, starts: Array, frames: int, columns: Sequence[str]) -> dict[str, Array]:
        for number in np.unique(numbers[self._addresses[numbers, 0] == 0]).tolist():
            matrices = self._columns(number).matrices
            self._addresses[number] = [matrix.__array_interface__["data"][0] for matrix in matrices]
            self._steps[number] = [matrix.strides[0] for matrix in matrices]
        by_matrix: dict[int, list[str]] = {}
        for name in columns:
            by_matrix.setdefault(self._place[name][0], []).append(name)
        stacked: dict[str, Array] = {}
        for matrix, names in by_matrix.items():
            dtype = self._columns(int(numbers[0])).matrices[matrix].dtype
            rows = np.array([self._place[name][1] for name in names])
            firsts = self._addresses[numbers, matrix] + starts * dtype.itemsize
            pieces = firsts + rows[:, np.newaxis] * self._steps[numbers, matrix]
            stacked.update(zip(names, _gathered(pieces, frames, dtype), strict=True))
        return {name: stacked[name] for name in columns}

    @cached_property
    def _addresses(self) -> Array:
        """Where the matrices of each game begin in memory, or 0 if a game isn't open yet."""
        return np.zeros((len(self.games), len(self.columns_by_type)), np.int64)

    @cached_property
    def _steps(self) -> Array:
        """How far the rows of these matrices are apart, in bytes."""
        return np.zeros((len(self.games), len(self.columns_by_type)), np.int64)

    def _all_windows(self, frames: int, stride: int, seed: int | None) -> tuple[Array, Array]:
        """Return the game and the first row of each window, in the order in which they should be read."""
        lengths = np.array([game.frames for game in self.games], np.int64)
        offsets = np.zeros(len(lengths), np.int64)
        random = None if seed is None else np.random.default_rng(seed)
        if random is not None:
            offsets = random.integers(0, stride, len(lengths)) % np.maximum(lengths - frames + 1, 1)
        counts = np.maximum((lengths - offsets - frames) // stride + 1, 0)
        numbers = np.repeat(np.arange(len(lengths), dtype=np.uint32), counts)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        starts = (np.arange(len(numbers)) - firsts) * stride + np.repeat(offsets, counts)
        if random is not None:
            order = random.permutation(len(numbers))
            numbers, starts = numbers[order], starts[order]
        return numbers, starts

    def _columns(self, number: int) -> _Columns:
        found = self._opened.get(number)
        if found is None:
            game = self.games[number]
            batch = self._shard(game.shard).get_batch(game.batch)
            matrices = [_matrix([_array(batch.column(name)) for name in names]) for names in self.columns_by_type]
            found = self._opened[number] = _Columns(matrices, self._place)
        return found

    @cached_property
    def _place(self) -> dict[str, tuple[int, int]]:
        groups = enumerate(self.columns_by_type)
        return {name: (matrix, row) for matrix, names in groups for row, name in enumerate(names)}

    def _shard(self, name: str) -> pa.RecordBatchFileReader:
        found = self._shards.get(name)
        if found is None:
            # The buffer stays mapped. The file is closed, because thousands of open files would be too many.
            with pa.memory_map(str(self.folder / name)) as file:
                mapped = file.read_buffer()
            found = self._shards[name] = pa.ipc.open_file(pa.BufferReader(mapped))
        return found


def _by_type(schema: pa.Schema) -> list[list[int]]:
    """Return the columns that contain numbers, grouped by type and in the order of the schema."""
    groups: dict[str, list[int]] = {}
    for index, field in enumerate(schema):
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            groups.setdefault(str(field.type), []).append(index)
    return list(groups.values())


class _Memory:
    """The memory from an address on, as an array whose rows overlap.

    Row i contains `count` values, beginning with value i.
    """

    def __init__(self, address: int, rows: int, count: int, dtype: np.dtype[Any]) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, True),
            "typestr": dtype.str,
            "shape": (rows, count),
            "strides": (dtype.itemsize, dtype.itemsize),
        }


def _gathered(addresses: Array, count: int, dtype: np.dtype[Any]) -> Array:
    """Return a new array with the `count` values at each of these addresses. It has one more dimension.

    A single call gathers the pieces of all games and shards, because this is much faster than a call for each of them.
    It doesn't read anything except for these pieces, and you have to make sure that their memory stays mapped.
    """
    lowest = int(addresses.min())
    rows = (addresses - lowest) // dtype.itemsize  # columns begin at multiples of eight bytes
    gathered: Array = np.asarray(_Memory(lowest, int(rows.max()) + 1, count, dtype))[rows]
    return gathered


def _array(column: pa.Array) -> Array:
    values: Array = column.to_numpy(zero_copy_only=True)
    return values


def _matrix(arrays: Sequence[Array]) -> Array:
    """One matrix whose rows are these arrays: a view if they lie at even distances in memory, otherwise a copy.

    In a record batch of a shard they do: all columns have the same length, and columns of one type follow each other.
    """
    if len(arrays) == 1:
        return arrays[0][np.newaxis]
    addresses = np.array([array.__array_interface__["data"][0] for array in arrays])
    steps = np.diff(addresses)
    if len(arrays[0]) and (steps == steps[0]).all() and steps[0] >= arrays[0].nbytes:
        shape, strides = (len(arrays), len(arrays[0])), (int(steps[0]), arrays[0].itemsize)
        return np.lib.stride_tricks.as_strided(arrays[0], shape, strides, writeable=False)
    return np.stack(arrays)
