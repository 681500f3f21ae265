"""Files that were there before: what is in them, as entries of the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from slpstream.model.errors import FormatError, SourceError
from slpstream.model.events import Event
from slpstream.store.game_facts import Entry, facts_of

Read = Callable[[Path], tuple[str, Sequence[Event]]]
"""The id and the events of the game in a file, as many as it takes to know them; called in a worker thread. Raises
`FormatError` and `SourceError`."""


class OldFile(NamedTuple):
    """A file that was there before."""

    path: Path
    mtime_ns: int
    size_bytes: int


def look(read: Read, station: str, file: OldFile) -> Entry:
    """What is in a file. Blocks."""
    entry = Entry(station=station, path=path_key(file.path), mtime_ns=file.mtime_ns, size_bytes=file.size_bytes)
    try:
        game_id, events = read(file.path)
    except (FormatError, SourceError) as error:
        entry.problem = str(error)
    else:
        entry.facts = facts_of(game_id, events)
    return entry


def path_key(path: Path) -> bytes:
    """A path as the index has it: the same from wherever it was said."""
    return os.fsencode(os.path.abspath(path))  # noqa: PTH100 -- names of links stay
