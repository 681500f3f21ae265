"""Tables of names: of the characters, stages, machines and so on of the games.

Each format keeps its tables as JSON files in a folder `names/`, from which this module reads them. The web server
serves the same files to the pages, so a name exists once. A file is one table, or several small ones under `tables`:

    {
      "about": "Courses by course id.",
      "source": "The manual of the game.",
      "confidence": "documented",
      "observed": [1, 3],
      "columns": {"length": {"about": "In metres."}},
      "rows": {"1": {"name": "Twist Road", "length": 1200}}
    }

`about` and `source` are texts, or lists of their lines. `confidence` is `documented`, `observed` (seen in real replays,
not documented) or `guessed`; it holds for every row and column without one. `observed` lists the ids that
were also seen in real replays. `columns` describes the columns besides `name`. A table under `tables` has its own
`about`, and takes `source` and `confidence` from the file unless it has its own. Keys of rows are ids in decimal, as in
messages, or texts where the replay has texts. A table of many consecutive ids can have `blocks` of names instead of
rows; the key of a block is its first id, in hex.

Tables are read when they are first used: a reader that never names anything opens no file.
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
    """The content of one table in `{file}.json`; `table` names it in a file of several."""
    content: dict[str, Any] = msgspec.json.decode((folder / f"{file}.json").read_bytes())
    if table is None:
        return content
    found: dict[str, Any] = content["tables"][table]
    return found


def rows_of(folder: Path, file: str, row: type[R], table: str | None = None) -> Callable[[], Mapping[int, R]]:
    """A function that returns the rows of a table by id, each as a `row`. It reads the file when it is first called."""

    prepared(row)

    @functools.cache
    def rows() -> Mapping[int, R]:
        found = read_table(folder, file, table)["rows"]
        return {int(key): msgspec.convert(value, row) for key, value in found.items()}

    return rows


def names_of(folder: Path, file: str, table: str | None = None) -> Callable[[], Mapping[int, str]]:
    """A function that returns the names of a table by id. It reads the file when it is first called."""

    @functools.cache
    def names() -> Mapping[int, str]:
        return {int(key): row["name"] for key, row in read_table(folder, file, table)["rows"].items()}

    return names


def names_by_text(folder: Path, file: str, table: str | None = None) -> Callable[[], Mapping[str, str]]:
    """A function that returns the names of a table whose keys are texts. It reads the file when it is first called."""

    @functools.cache
    def names() -> Mapping[str, str]:
        return {key: row["name"] for key, row in read_table(folder, file, table)["rows"].items()}

    return names
