"""Tables with the names of things in the games, such as characters, stages and machines.

Each format has a folder `names/` with JSON files, and this module reads them. The web server serves the same files to
the pages, so each name only exists in one place. A file contains one table, or several small ones under `tables`:

    {
      "about": "Courses by course id.",
      "source": "The manual of the game.",
      "confidence": "documented",
      "observed": [1, 3],
      "columns": {"length": {"about": "In metres."}},
      "rows": {"1": {"name": "Twist Road", "length": 1200}}
    }

`about` and `source` are either texts or lists of lines. `confidence` tells you how sure we are: it is `documented`,
`observed` (which means that we have seen it in real replays, but it isn't documented) or `guessed`. It applies to all
rows and columns that don't have one themselves. `observed` lists the ids that we have also seen in real replays.
`columns` describes the columns other than `name`. A table under `tables` has its own `about`, and if it doesn't have a
`source` or `confidence`, it takes those of the file. The keys of rows are ids in decimal, as in messages. If the replay
contains texts instead of ids, then the keys are these texts. For a table of many consecutive ids, you can write
`blocks` of names instead of rows. The key of a block is its first id, in hex.

A table is only read when it is used for the first time, so if a reader never needs to name anything, it doesn't open
any file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from slpstream.model.prepared import prepared

R = TypeVar("R", bound=msgspec.Struct)


def read_table(folder: Path, file: str, table: str | None = None) -> dict[str, Any]:
    """Read one table from `{file}.json`. If the file contains several, pass the name of the `table`."""
    content: dict[str, Any] = msgspec.json.decode((folder / f"{file}.json").read_bytes())
    if table is None:
        return content
    found: dict[str, Any] = content["tables"][table]
    return found


def rows_of(folder: Path, file: str, row: type[R], table: str | None = None) -> Callable[[], Mapping[int, R]]:
    """Return a function that returns the rows of the given table by id, each converted to a `row`.

    The file is read when you call that function for the first time.
    """

    prepared(row)

    @functools.cache
    def rows() -> Mapping[int, R]:
        found = read_table(folder, file, table)["rows"]
        return {int(key): msgspec.convert(value, row) for key, value in found.items()}

    return rows


def names_of(folder: Path, file: str, table: str | None = None) -> Callable[[], Mapping[int, str]]:
    """Return a function that returns the names of the given table by id.

    The file is read when you call that function for the first time.
    """

    @functools.cache
    def names() -> Mapping[int, str]:
        return {int(key): row["name"] for key, row in read_table(folder, file, table)["rows"].items()}

    return names


def names_by_text(folder: Path, file: str, table: str | None = None) -> Callable[[], Mapping[str, str]]:
    """Like `names_of`, but for a table whose keys are texts."""

    @functools.cache
    def names() -> Mapping[str, str]:
        return {key: row["name"] for key, row in read_table(folder, file, table)["rows"].items()}

    return names
