"""The Python interface: a replay on disk as events and messages, and one that is still being written.

All of it is the daemon's own pipeline over the same bytes, so what a script sees is what the wire says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from slpstream.errors import Unreadable
from slpstream.events import Diagnostic, Event, Frame, GameEnd, GameStart, Metadata
from slpstream.formats import of_name
from slpstream.messages import TOPICS, FramesMode, LogMessage
from slpstream.pipeline import Pipeline
from slpstream.tail import CaughtUp, FolderTail, Grew, Lost, Opened, Refused, Rewritten, TailedFile, Watcher

_READ_BYTES = 256 * 1024
_FOLLOW_POLL_SECONDS = 0.05


class Replay:
    """A replay on disk, read once when the first value is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._events: list[Event] | None = None

    def events(self) -> list[Event]:
        """All events in the order of the log. Raises `FormatError` when the file is no replay."""
        if self._events is None:
            reader = of_name(self.path.name).reader()
            events = [event for chunk in read_chunks(self.path) for event in reader.feed(chunk)]
            events += reader.finish()
            if reader.failure is not None and not any(isinstance(event, GameStart) for event in events):
                raise reader.failure
            self._events = events
        return self._events

    def frames(self) -> dict[int, Frame]:
        """The last sending of each frame, by frame number, ascending."""
        newest = {event.number: event for event in self.events() if isinstance(event, Frame)}
        return dict(sorted(newest.items()))

    @property
    def game_id(self) -> str:
        """32 hex digits."""
        return self._one(GameStart).game_id  # type: ignore[no-any-return]

    @property
    def settings(self) -> Any:
        """How the game was set up, of the format's own type."""
        return self._one(GameStart).settings

    @property
    def game_end(self) -> GameEnd:
        """How it ended; reason `incomplete` when the file just stops."""
        end: GameEnd = self._one(GameEnd)
        return end

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The metadata, `None` when the file has none."""
        found = next((event for event in self.events() if isinstance(event, Metadata)), None)
        return None if found is None else dict(found.metadata)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is odd about the bytes."""
        return [event for event in self.events() if isinstance(event, Diagnostic)]

    def _one(self, kind: type[Event]) -> Any:
        return next(event for event in self.events() if isinstance(event, kind))


def open_replay(path: str | PathLike[str]) -> Replay:
    """A replay on disk. Raises `SourceError` when it cannot be read; reading happens when a value is asked for."""
    replay = Path(path)
    with open_file(replay):
        return Replay(replay)


def messages(
    path: str | PathLike[str], *, frames: FramesMode = "live", topics: Iterable[str] = TOPICS
) -> Iterator[LogMessage]:
    """The log messages of a replay, finished or not, in order. `message.json()` is the line that `dump` prints.

    Raises `SourceError` when the file cannot be read and `FormatError` when it is no replay; a replay that breaks off
    or is damaged later ends with its `diagnostic` and `game_end`.
    """
    wanted = frozenset(topics)
    replay = Path(path)
    pipeline = Pipeline(of_name(replay.name).reader(), (frames,))
    for chunk in read_chunks(replay):
        yield from _wanted(pipeline.feed(chunk)[0], wanted)
    yield from _wanted(pipeline.finish()[0], wanted)
    if pipeline.failure is not None and pipeline.game_id is None:
        raise pipeline.failure


async def follow(
    path: str | PathLike[str], *, frames: FramesMode = "live", topics: Iterable[str] = TOPICS
) -> AsyncGenerator[LogMessage, None]:
    """The log messages of a replay that is being written, as they come; ends when the game has closed the file.

    Under trio. Close the iterator (`contextlib.aclosing`) when you leave it early. Raises `SourceError` when the file
    does what a log must not do, and `FormatError` when it is no replay.
    """
    wanted = frozenset(topics)
    file = Path(os.path.realpath(path))  # noqa: ASYNC240 -- a moment, and before anything else waits
    if file.is_dir():  # noqa: ASYNC240
        raise Unreadable(str(path), "is a directory")
    format_ = of_name(file.name)
    pipeline = Pipeline(format_.reader(), (frames,))
    ours: TailedFile | None = None
    async with (
        Watcher() as watcher,
        FolderTail(
            file.parent,
            suffixes=(file.name.lower(),),
            rewritable_bytes=format_.rewritable_bytes,
            hints=watcher.watch(file.parent),
            poll_seconds=_FOLLOW_POLL_SECONDS,
            idle_seconds=float("inf"),
        ) as tail,
    ):
        async for event in tail:
            if isinstance(event, Opened) and event.file.path == file:
                ours = event.file
            elif (isinstance(event, Refused) and event.path == file) or (
                isinstance(event, Lost) and event.file is ours
            ):
                raise event.error
            elif isinstance(event, Grew) and event.file is ours:
                for message in _wanted(pipeline.feed(event.data)[0], wanted):
                    yield message
            elif isinstance(event, Rewritten) and event.file is ours:
                for message in _wanted(pipeline.rewrite(event.data)[0], wanted):
                    yield message
            if pipeline.failure is not None and pipeline.game_id is None:
                raise pipeline.failure
            if pipeline.closed and isinstance(event, (CaughtUp, Rewritten, Grew)):
                return


def read_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file in pieces. Raises `SourceError`."""
    try:
        with open_file(path) as file:
            while chunk := file.read(_READ_BYTES):
                yield chunk
    except OSError as error:
        raise Unreadable(str(path), error.strerror or "cannot be read") from error


def open_file(path: Path) -> BinaryIO:
    """A regular file, open for reading; to open anything else can wait for ever. Raises `Unreadable`."""
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    except OSError as error:
        raise Unreadable(str(path), (error.strerror or "cannot be read").lower()) from error
    raise Unreadable(str(path), "not a regular file")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _wanted(batch: list[LogMessage], topics: frozenset[str]) -> Iterator[LogMessage]:
    return (message for message in batch if message.topic in topics)
