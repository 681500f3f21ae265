"""The rows that you get if you query for games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slpstream.store.games_query import GameKey

MOST_FIRST = "ORDER BY completeness DESC, size_bytes DESC, mtime_ns DESC"
"""The order of the files that hold the same game. The first file counts: a copy that was cut off or is damaged does not
hide the whole file, however new it is."""


class GameRow(NamedTuple):
    """One game in a list."""

    game_id: str
    started_at_ms: int
    """When the game began, according to its file or else to the last write to the file."""
    listed_at_ms: int
    """Its place in lists."""
    arrived_at_ms: int | None
    """When the daemon saw its first bytes arrive, or `None` for games that were not seen to arrive."""
    format: str
    station: str
    reason: str | None
    last_frame: int | None
    duration_seconds: float | None
    summary: str
    """A `GameSummary` as JSON."""
    standings: str | None
    """Stocks and percent at the end by player index, as JSON, or `None` until then."""
    ended_at_ms: int | None
    """When the daemon saw the game end, or else the last write to its file, or `None` until it has ended."""
    stations: str
    """The stations of its files as a JSON list, with repetitions. The station of the file that counts comes first."""


class GameDetails(NamedTuple):
    """Those parts of a game that we don't show in lists, as JSON."""

    rate: str
    game_end: str | None
    metadata: str | None
    stats: str | None
    highlights: str | None
    """`None` while they are not computed."""
    settings: str


class FileRow(NamedTuple):
    """One file of a game."""

    path: bytes
    station: str
    mtime_ns: int
    size_bytes: int
    completeness: int | None
    """See `Entry.completeness`. It is `None` if the file must be read again."""


class StoredGame(NamedTuple):
    """One game with its files. The file that has most of the game comes first."""

    row: GameRow
    details: GameDetails
    files: Sequence[FileRow]
    codes: str | None = None
    """Fingerprint of the codes, or empty for a replay without a list, or `None` until it is read."""


class Page(NamedTuple):
    """A page of games, beginning with the newest."""

    games: Sequence[GameRow]
    next: GameKey | None
    """The `cursor` of the next page; `None` on the last one."""
