"""A tail driven by hand: no event loop, no threads, no sleeping, time as a number. What a test does to the folder
between two steps happens between two steps, so every run is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import outcome

from slpstream.model.errors import SourceError
from slpstream.sources.tail import (
    CaughtUp,
    FolderTail,
    Grew,
    Lost,
    Notifications,
    Opened,
    Refused,
    Rewritten,
    Scanned,
    Settled,
    TailedFile,
    TailEvent,
)

T = TypeVar("T")
WALL = 1_700_000_000.0
REWRITABLE = 15


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run what never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    coroutine.close()
    raise AssertionError("it waited")


class InLine:
    """Blocking work, done here and now."""

    def __init__(self) -> None:
        self.hops = 0

    async def run(self, work: Callable[[], T]) -> T:
        self.hops += 1
        return work()

    def start(self, work: Callable[[], T], deliver: Callable[[outcome.Outcome[T]], None]) -> None:
        self.hops += 1
        deliver(outcome.capture(work))


class Record:
    """One followed file as a consumer knows it."""

    def __init__(self, file: TailedFile, *, existed: bool) -> None:
        self.file = file
        self.existed = existed
        self.data = bytearray()
        self.caught_up = 0
        self.rewritten = 0
        self.error: SourceError | None = None

    def __repr__(self) -> str:
        return f"<Record {self.file.path.name} {bytes(self.data)!r} {self.error}>"


class Driver:
    """A `FolderTail` and everything it has said."""

    def __init__(
        self,
        root: Path,
        *,
        notifications: Notifications | None = None,
        read_bytes: int = 65536,
        at: float = 0.0,
        suffixes: tuple[str, ...] = (".slp",),
    ) -> None:
        self.root = root
        self.at = at
        self.threads = InLine()
        self.tail = FolderTail(
            root,
            suffixes=suffixes,
            rewritable_bytes=REWRITABLE,
            notifications=notifications,
            read_bytes=read_bytes,
            wall_clock=lambda: WALL + self.at,
            threads=self.threads,
        )
        self.events: list[TailEvent] = []
        self.records: dict[TailedFile, Record] = {}
        self.refused: list[Refused] = []
        self.scanned: list[Scanned] = []
        self.settled = 0

    def step(self, seconds: float = 0.1) -> list[TailEvent]:
        """One pass, some time after the last one."""
        self.at += seconds
        events = run(self.tail.step(self.at))
        self.events += events
        for event in events:
            self._hear(event)
        return events

    def settle(self, seconds: float = 0.1) -> list[TailEvent]:
        """Steps, until three in a row say nothing."""
        said: list[TailEvent] = []
        quiet = 0
        while quiet < 3:
            events = self.step(seconds)
            said += events
            quiet = 0 if events else quiet + 1
        return said

    def close(self) -> None:
        run(self.tail.__aexit__(None, None, None))

    def _hear(self, event: TailEvent) -> None:
        """What holds for every event at any time."""
        if isinstance(event, Scanned):
            self.scanned.append(event)
            return
        assert self.scanned, "Scanned is the first"
        if isinstance(event, Refused):
            self.refused.append(event)
        elif isinstance(event, Settled):
            self.settled += 1
            assert self.settled == 1
        elif isinstance(event, Opened):
            assert event.file not in self.records
            self.records[event.file] = Record(event.file, existed=event.existed)
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
        """What is being followed now, by path."""
        return {file.path: self.records[file] for file in self.tail.active}

    def root_present(self) -> bool:
        """Whether the tail believes in its root."""
        return self.tail.root_present

    def only(self) -> Record:
        """The one file that is being followed."""
        (record,) = self.live().values()
        return record
