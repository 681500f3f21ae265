"""The Python interface: a replay on disk as events and messages, and one that is still being written.

All of it is the daemon's own pipeline over the same bytes, so what a script sees is what the wire says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator, Iterable, Iterator
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from slpstream.errors import FormatError, Unreadable, Unsupported
from slpstream.events import Diagnostic, Event, GameEnd, GameStart, Metadata
from slpstream.formats import Reader, WholeGame, of_name
from slpstream.messages import TOPICS, FramesMode, LogMessage
from slpstream.pipeline import Deriver, Pipeline
from slpstream.stats import SlippiStats
from slpstream.stats.home_run import HomeRun
from slpstream.stats.shapes import Stats
from slpstream.stats.targets import TargetTest
from slpstream.stats.whole import whole_stats
from slpstream.tail import CaughtUp, FolderTail, Grew, Lost, Opened, Refused, Rewritten, TailedFile, Watcher

if TYPE_CHECKING:
    from slpstream.slippi.whole_game import WholeGame as SlippiGame

_READ_BYTES = 256 * 1024
_HEAD_BYTES = 1024
_WHOLE_FILE = -1
_FRAMES_AT_ONCE = 1024
_FOLLOW_POLL_SECONDS = 0.05
WITH_STATS = "slippi"
"""The format that has stats."""

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
        self._stats: dict[tuple[bool, bool], SlippiStats] = {}

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

    def stats(self, *, compat: bool = False, crew: bool = False) -> Stats:
        """The stats of the game: those of its last `stats` message. `compat`: what slippi-js 9.1.2 counts; `crew`: a
        crew battle. Raises `Unsupported` for a format that has no stats.

        With the extra `analysis` a game that has ended properly takes half the time.
        """
        return self._computed(compat=compat, crew=crew).stats()

    def stadium_stats(self) -> TargetTest | HomeRun | None:
        """slippi-js `getStadiumStats`: of a target test or a home-run contest, `None` for other games."""
        return self._computed(compat=False, crew=False).stadium()

    def _computed(self, *, compat: bool, crew: bool) -> SlippiStats:
        if self._format.name != WITH_STATS:
            raise Unsupported(f"{self.path}: {self._format.name} replays have no stats", offset=0)
        known = self._stats.get((compat, crew))
        if known is None:
            whole = cast("SlippiGame | None", self._whole)
            known = None if whole is None else whole_stats(whole, compat=compat, crew=crew)
            known = self._stats[compat, crew] = known or self._computed_as_read(compat=compat, crew=crew)
        return known

    def _computed_as_read(self, *, compat: bool, crew: bool) -> SlippiStats:
        computers: list[SlippiStats] = []

        def make(settings: Any) -> SlippiStats:
            computers.append(SlippiStats(settings, compat=compat, crew=crew))
            return computers[0]

        reader = self._format.reader()
        deriver = Deriver({WITH_STATS: make})
        for chunk in read_chunks(self.path):
            deriver.derive(reader.feed(chunk))
        deriver.derive(reader.finish())
        if not computers:
            raise reader.failure or FormatError("no game in it", offset=0)
        return computers[0]

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
