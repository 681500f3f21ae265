"""A tail driven by hand, without event loop, threads or sleeping; time is a number.

Tests change the folder between two steps, so every run is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import outcome

from slpstream.model.errors import SourceError
from slpstream.sources.tail.events import (
    CaughtUp,
    Grew,
    Lost,
    Opened,
    Refused,
    Rewritten,
    Scanned,
    Settled,
    TailedFile,
    TailEvent,
    Touched,
)
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.notifications import Notifications

T = TypeVar("T")
WALL_CLOCK = 1_700_000_000.0
REWRITABLE = 15


def append(path: Path, data: bytes) -> None:
    """Append to a file, as a game does: with one write."""
    with path.open("ab", buffering=0) as file:
        file.write(data)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    coroutine.close()
    raise AssertionError("the coroutine waited")


class InlineThreads:
    """Runs blocking work inline. `turns` counts how often other tasks could have run."""

    def __init__(self) -> None:
        self.turns = 0

    async def run(self, work: Callable[[], T]) -> T:
        return work()

    def start(self, work: Callable[[], T], deliver: Callable[[outcome.Outcome[T]], None]) -> bool:
        deliver(outcome.capture(work))
        return True

    async def give_way(self) -> None:
        self.turns += 1


class Record:
    """One followed file as its consumer knows it."""

    def __init__(self, file: TailedFile, *, existed: bool, changed: bool) -> None:
        self.file = file
        self.existed = existed
        self.changed = changed
        self.data = bytearray()
        self.caught_up = 0
        self.rewritten = 0
        self.error: SourceError | None = None

    def __repr__(self) -> str:
        return f"<Record {self.file.path.name} {bytes(self.data)!r} {self.error}>"


class Driver:
    """A `FolderTail` and everything that it has delivered."""

    def __init__(
        self,
        root: Path,
        *,
        now: float = 0.0,
        notifications: Notifications | None = None,
        threads: InlineThreads | None = None,
        **options: Any,
    ) -> None:
        """`options` are those of `FolderTail`."""
        arguments: dict[str, Any] = {"suffixes": (".slp",), "rewritable_bytes": REWRITABLE, **options}
        self.now = now
        self.threads = threads or InlineThreads()
        self.tail = FolderTail(
            root,
            **arguments,
            notifications=notifications,
            wall_clock=lambda: WALL_CLOCK + self.now,
            threads=self.threads,
        )
        self.events: list[TailEvent] = []
        self.records: dict[TailedFile, Record] = {}
        self.refused: list[Refused] = []
        self.scanned: list[Scanned] = []
        self.touched: list[TailedFile] = []
        self.settled = 0

    def step(self, seconds: float = 0.1) -> list[TailEvent]:
        """Advance the clock and run one pass."""
        self.now += seconds
        events = run(self.tail.step(self.now))
        self.events += events
        for event in events:
            self._check(event)
        return events

    def settle(self, seconds: float = 0.1) -> list[TailEvent]:
        """Step until three steps in a row deliver nothing."""
        delivered: list[TailEvent] = []
        quiet = 0
        while quiet < 3:
            events = self.step(seconds)
            delivered += events
            quiet = 0 if events else quiet + 1
        return delivered

    def close(self) -> None:
        run(self.tail.__aexit__(None, None, None))

    def _check(self, event: TailEvent) -> None:
        """Check the rules that hold for every event, and record it."""
        if isinstance(event, Scanned):
            self.scanned.append(event)
            return
        assert self.scanned, "Scanned comes first"
        if isinstance(event, Refused):
            self.refused.append(event)
        elif isinstance(event, Touched):
            self.touched += event.files
        elif isinstance(event, Settled):
            self.settled += 1
            assert self.settled == 1
        elif isinstance(event, Opened):
            assert event.file not in self.records
            assert event.existed or not event.changed
            self.records[event.file] = Record(event.file, existed=event.existed, changed=event.changed)
        else:
            record = self.records[event.file]
            assert record.error is None, "nothing comes after Lost"
            if isinstance(event, Grew):
                assert event.data
                assert event.offset == len(record.data)
                record.data += event.data
            elif isinstance(event, Rewritten):
                assert 0 < len(event.data) <= min(REWRITABLE, len(record.data))
                assert len(event.data) == min(REWRITABLE, len(record.data))
                assert record.data[: len(event.data)] != event.data
                record.data[: len(event.data)] = event.data
                record.rewritten += 1
            elif isinstance(event, CaughtUp):
                record.caught_up += 1
            else:
                assert isinstance(event, Lost)
                record.error = event.error

    def live(self) -> dict[Path, Record]:
        """The files that are followed now, by path."""
        return {file.path: self.records[file] for file in self.tail.active}

    def root_present(self) -> bool:
        """Whether the tail has found its root."""
        return self.tail.root_present

    def only(self) -> Record:
        """The only file that is followed."""
        (record,) = self.live().values()
        return record
