"""The Python interface: a replay on disk as events and messages, and one that is still being written.

All of it is the daemon's own pipeline over the same bytes, so what a script sees is what the wire says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from slpstream.errors import FormatError, Unreadable, Unsupported
from slpstream.events import Diagnostic, Event, GameEnd, GameStart, Metadata, StatsUpdate
from slpstream.formats import Reader, WholeGame, of_name
from slpstream.messages import TOPICS, FramesMode, LogMessage
from slpstream.pipeline import Pipeline
from slpstream.slippi.ends import Ends
from slpstream.tail import CaughtUp, FolderTail, Grew, Lost, Opened, Refused, Rewritten, TailedFile, Watcher

_READ_BYTES = 256 * 1024
_HEAD_BYTES = 1024
_ENDS_BYTES = 4096
"""Of each end of a file, where these are all that is read."""
_WHOLE_FILE = -1
_FRAMES_AT_ONCE = 1024
_FOLLOW_POLL_SECONDS = 0.05
_KEPT_EVENTS = (GameStart, GameEnd, Metadata)

AnEvent = TypeVar("AnEvent", bound=Event)


class Replay:
    """A replay on disk. Opening reads its first bytes; the rest is read when something asks for it.

    `frames` are columns and take the extra `analysis`; everything else works without.
    """

    def __init__(self, path: Path) -> None:
        """Raises `SourceError` when the file cannot be read, `FormatError` when it is no replay."""
        self.path = path
        self._format = of_name(path.name)
        self._start = _read_start(path, self._format.reader())

    def __repr__(self) -> str:
        return f"<replay {self.path.name}, game {self.game_id}>"

    @property
    def game_id(self) -> str:
        """32 hex digits."""
        return self._start.game_id

    @property
    def settings(self) -> Any:
        """How the game was set up, of the format's own type."""
        return self._start.settings

    @cached_property
    def game_end(self) -> GameEnd:
        """How it ended; reason `incomplete` when the file just stops."""
        return self._whole.end if self._whole is not None else _one(GameEnd, self.events())

    @cached_property
    def metadata(self) -> dict[str, Any] | None:
        """The metadata, `None` when the file has none."""
        if self._whole is not None:
            found = self._whole.metadata
        else:
            found = next((event for event in self.events() if isinstance(event, Metadata)), None)
        return None if found is None else dict(found.metadata)

    @property
    def frames(self) -> Any:
        """The frames as columns: `slpstream.slippi.columns.Frames`. Raises `ModuleNotFoundError` without the extra
        `analysis`, and `Unsupported` for a format that has no columns."""
        if self._format.whole is None:
            raise Unsupported(f"{self.path}: {self._format.name} replays have no columns", offset=0)
        return self._format.whole(self._data).frames if self._whole is None else self._whole.frames

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is odd about the bytes."""
        return [event for event in self.events() if isinstance(event, Diagnostic)]

    def events(self) -> list[Event]:
        """All events in the order of the log, as the live path says them: an object for each sending of each frame."""
        reader = self._format.reader()
        events = [event for chunk in read_chunks(self.path) for event in reader.feed(chunk)]
        events += reader.finish()
        while reader.pending:
            events += reader.more(_FRAMES_AT_ONCE)
        return events

    @cached_property
    def _data(self) -> bytes:
        return b"".join(read_chunks(self.path, _WHOLE_FILE))

    @cached_property
    def _whole(self) -> WholeGame | None:
        """The batch path, where the format and the installation have it."""
        if self._format.whole is None or find_spec("numpy") is None:
            return None
        return self._format.whole(self._data)


def open_replay(path: str | PathLike[str]) -> Replay:
    """A replay on disk. Raises `SourceError` when it cannot be read, `FormatError` when it is no replay."""
    return Replay(Path(path))


def replay_ends(path: str | PathLike[str]) -> Ends | None:
    """What the first and the last bytes of a finished replay say; the rest is not read.

    `None` when these do not tell (`open_replay` does), or the format has nothing to tell by. Raises `SourceError` when
    the file cannot be read, `FormatError` when it is no replay.
    """
    file = Path(path)
    ends = of_name(file.name).ends
    if ends is None:
        return None
    try:
        with open_file(file) as opened:
            head = opened.read(_ENDS_BYTES)
            tail_at = max(0, os.fstat(opened.fileno()).st_size - _ENDS_BYTES)
            opened.seek(tail_at)
            tail = opened.read()
        return ends(head, tail, tail_at)
    except FormatError as error:
        if error.offset < len(head) or tail_at + len(tail) <= len(head):
            raise
        return None  # Game Start is not in the head
    except OSError as error:
        raise Unreadable(str(file), error.strerror or "cannot be read") from error


def read_game(path: Path, *, stats: bool = False) -> tuple[str, Sequence[Event]]:
    """The id of the game in a file, and those of its events that the index wants: of a finished game from the file's
    two ends; all of it is read when these do not tell, or for the `stats`.

    Blocks. Raises `SourceError` when the file cannot be read and `FormatError` when there is no game in it.
    """
    if not stats:
        ends = replay_ends(path)
        if ends is not None:
            return ends.start.game_id, [ends.start, ends.end, ends.metadata]
        return _read_reader(path)
    pipeline = Pipeline(of_name(path.name).reader(), ())
    kept: list[Event] = []

    def keep() -> None:
        for event in pipeline.events:
            if isinstance(event, StatsUpdate):
                kept[:] = [other for other in kept if not isinstance(other, StatsUpdate)]
            if isinstance(event, (*_KEPT_EVENTS, StatsUpdate)):
                kept.append(event)

    for chunk in read_chunks(path):
        pipeline.feed(chunk)
        keep()
    pipeline.finish()
    keep()
    while pipeline.pending:
        pipeline.more(_FRAMES_AT_ONCE)
        keep()
    if pipeline.game_id is None:
        raise pipeline.failure or FormatError("no game in it", offset=0)
    return pipeline.game_id, kept


def _read_reader(path: Path) -> tuple[str, Sequence[Event]]:
    reader = of_name(path.name).reader()
    kept: list[Event] = []

    def keep(events: Sequence[Event]) -> None:
        kept.extend(event for event in events if isinstance(event, _KEPT_EVENTS))

    for chunk in read_chunks(path):
        keep(reader.feed(chunk))
    keep(reader.finish())
    while reader.pending:
        keep(reader.more(_FRAMES_AT_ONCE))
    start = next((event for event in kept if isinstance(event, GameStart)), None)
    if start is None:
        raise reader.failure or FormatError("no game in it", offset=0)
    return start.game_id, kept


def _read_start(path: Path, reader: Reader) -> GameStart:
    """The Game Start; reads no more of the file than it takes."""
    for chunk in read_chunks(path, _HEAD_BYTES):
        found = next((event for event in reader.feed(chunk) if isinstance(event, GameStart)), None)
        if found is not None:
            return found
        if reader.failure is not None:
            raise reader.failure
    found = next((event for event in reader.finish() if isinstance(event, GameStart)), None)
    if found is None:
        raise reader.failure or FormatError("no game in it", offset=0)
    return found


def _one(kind: type[AnEvent], events: list[Event]) -> AnEvent:
    return next(event for event in events if isinstance(event, kind))


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
    while pipeline.pending:
        yield from _wanted(pipeline.more(_FRAMES_AT_ONCE)[0], wanted)
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


def read_chunks(path: Path, most_bytes: int = _READ_BYTES) -> Iterator[bytes]:
    """The bytes of a file in pieces; -1 for all at once. Raises `SourceError`."""
    try:
        with open_file(path) as file:
            while chunk := file.read(most_bytes):
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
