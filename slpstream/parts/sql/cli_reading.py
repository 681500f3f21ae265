"""The replays of `slpstream sql`.

They are read for a scan in this process or, if there are many, in several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from slpstream.api import Replay, open_replay, preview_replay, read_game
from slpstream.cli import describe_error, report
from slpstream.cli.game_query import GameQuery, is_match
from slpstream.cli.replay_files import FoundReplay, ReplayFile, at_hand, each_replay
from slpstream.game.described import DescribedGame
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.events import Metadata
from slpstream.parts.sql.scan import Rows, Scan
from slpstream.system.member_paths import path_text

ALONE_SECONDS = 2.0
"""How long this process reads replays alone. For less, and for a query that soon has enough rows, starting others takes
longer than it saves."""
_COSTLY_PER_TASK, _CHEAP_PER_TASK = 8, 50
_MAX_ROWS_IN_BATCH = 2048


class QueriedReplay:
    """A replay. We only read those parts of it that are used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = file_text(path)

    @cached_property
    def game(self) -> DescribedGame:
        """The game. We get it from both ends of the file, and if they aren't enough, from columns."""
        preview = preview_replay(self.path)
        if preview is not None:
            start, *others = preview
            game = DescribedGame(start)
            game.take(others)
            return game
        if not self.replay.has_columns:
            return read_game(self.path)
        game = DescribedGame(self.replay.start)
        game.take([self.replay.game_end])
        if self.replay.metadata is not None:
            game.take([Metadata(0, self.replay.metadata)])
        return game

    @cached_property
    def replay(self) -> Replay:
        """The replay. When it is opened, this reads its first bytes."""
        return open_replay(self.path)


class Found(NamedTuple):
    """The rows of a replay and, if there's something to say about it, a message with its exit code."""

    rows: Rows | None = None
    message: str = ""
    code: int = 0


class ExaminedInProcesses(Protocol):
    """`replay_work.examined`."""

    def __call__(
        self, examine: Callable[[FoundReplay], Found], replays: Iterable[FoundReplay], *, jobs: int, per_task: int
    ) -> Iterator[Found]:
        """The rows of each replay, in order."""


class ReplayReader:
    """Reads the replays of a command for one scan after the other.

    If a replay is broken, this is only reported once.
    """

    def __init__(
        self,
        files: Sequence[ReplayFile],
        endings: tuple[str, ...],
        examined: ExaminedInProcesses,
        *,
        games: GameQuery | None,
        jobs: int,
    ) -> None:
        self._files = files
        self._endings = endings
        self._examined = examined
        self._games = games
        self._jobs = jobs
        self._reported: set[str] = set()
        self.code = 0
        """The exit code, for the worst of the broken replays so far."""

    def read(self, scan: Scan) -> Iterator[pa.Table]:
        """Yield the tables of a scan, in the order of the files.

        Raises `OSError`, and everything that breaks a pool of processes.
        """
        pending: list[dict[str, Any]] = []
        enough = 1  # doubled, because a query with a limit may need only a few rows
        for found in self._found(scan):
            self._note(found)
            if isinstance(found.rows, list):
                pending += found.rows
                if len(pending) >= enough:
                    yield scan.table_of(pending)
                    pending = []
                    enough = min(2 * enough, _MAX_ROWS_IN_BATCH)
            elif found.rows is not None:
                yield scan.table_of(found.rows)
        if pending:
            yield scan.table_of(pending)

    def _found(self, scan: Scan) -> Iterator[Found]:
        replays = (
            replay
            for replay in each_replay(self._files, self._endings, by_name=True)
            if not scan.names_files or scan.wants_file(file_text(replay.path))
        )
        examine_each: Callable[[FoundReplay], Found] = partial(examine, scan, self._games)
        seconds = 0.0
        for replay in replays:
            began = perf_counter()
            found = examine_each(replay)
            seconds += perf_counter() - began
            yield found
            if seconds > ALONE_SECONDS and self._jobs > 1:
                per_task = _COSTLY_PER_TASK if scan.is_costly else _CHEAP_PER_TASK
                yield from self._examined(examine_each, replays, jobs=self._jobs, per_task=per_task)
                return

    def _note(self, found: Found) -> None:
        if found.message and found.message not in self._reported:
            self._reported.add(found.message)
            report(found.message)
        self.code = max(self.code, found.code)


def examine(scan: Scan, games: GameQuery | None, found: FoundReplay) -> Found:
    """Read a replay for a scan. This can run in any process."""
    queried = QueriedReplay(found.path)
    try:
        at_hand(found)
        if games is not None and not is_match(games, queried.path, queried.game.record()):
            return Found()
        rows = scan.read(queried)
        return Found(rows, "" if rows is None or not scan.is_costly else _damage(queried))
    except (FormatError, SourceError) as error:
        return Found(None, *describe_error(found.path, error))


def _damage(queried: QueriedReplay) -> str:
    """Return a message about a replay that breaks off. Its rows end at that point."""
    end = queried.replay.game_end
    if end.reason not in ("incomplete", "error"):
        return ""
    return f"{queried.file}: breaks off at offset {end.end_offset} ({end.reason}); the rows go up to there"


def file_text(path: Path) -> str:
    """Return a path in the form in which you see it in the column `file`."""
    return path_text(path).encode("utf-8", "replace").decode()
