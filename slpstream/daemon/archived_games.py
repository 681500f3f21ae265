"""Reads the games in an archive for the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slpstream.api import read_game
from slpstream.formats.registry import suffixes
from slpstream.model.errors import FormatError, SourceError
from slpstream.sources.packed import keep, members
from slpstream.store.backfill import ArchivedGame
from slpstream.system.member_paths import path_text


def read_archive(path: Path, *, stats: bool = False) -> Iterator[ArchivedGame]:
    """Yield the games in an archive, in order, and in the form in which the index stores them. This blocks.

    With `stats`, the replays are read completely.
    """
    for member in members(path, suffixes()):
        name = path_text(member.path)
        if member.problem is not None:
            yield ArchivedGame(member.path, member.size_bytes, None, f"{name}: {member.problem}")
            continue
        try:
            data = member.read()
            keep(member.path, data)
            record = read_game(member.path, stats=stats).record()
        except OSError as error:
            yield ArchivedGame(member.path, member.size_bytes, None, f"{name}: {error.strerror}")
        except FormatError as error:
            yield ArchivedGame(member.path, member.size_bytes, None, f"{name}: {error}")
        except SourceError as error:
            yield ArchivedGame(member.path, member.size_bytes, None, str(error))
        else:
            yield ArchivedGame(member.path, len(data), record)
