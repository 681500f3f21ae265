"""The Python interface to replays: the events, columns, stats and messages of a file on disk.

The file can be finished or still growing.

All functions run the daemon's own pipeline over the same bytes. This means that a script sees the same data as a
subscriber.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from slpstream.formats.interface import REST_SECONDS, SNIFFED_BYTES, Format, Preview, Reader, WholeGame
from slpstream.formats.registry import new_stats, of_name
from slpstream.formats.slplog.open_log import is_log
from slpstream.game.described import DescribedGame
from slpstream.game.pipeline import Pipeline
from slpstream.model.errors import FormatError, Unreadable, UnsupportedFile
from slpstream.model.events import Diagnostic, Event, GameEnd, GameStart, Metadata, first_of
from slpstream.model.messages import FramesMode, LogMessage
from slpstream.model.setup import CodeList
from slpstream.model.topics import TOPICS
from slpstream.sources.packed import is_packed
from slpstream.sources.packed import replay_name as packed_name
from slpstream.sources.replay_file import open_file, read_chunks, read_head, unreadable
from slpstream.system.files import read_to_end, real_path
from slpstream.system.live_iterator import LiveIterator
from slpstream.system.member_paths import path_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from slpstream.formats.slippi.columns import Frames
    from slpstream.formats.slippi.game_start import Settings
    from slpstream.formats.slippi.stats import SlippiStats
    from slpstream.formats.slippi.stats.schema import Stats
    from slpstream.formats.slippi.stats.stadium import HomeRun, TargetTest
    from slpstream.model.controller_report import ControllerReport
    from slpstream.model.occurrence import Occurrence

    TrainingRows = dict[str, npt.NDArray[Any]]

_PREVIEW_BYTES = 4096
"""How much of each end of a file we read for a preview."""
_WHOLE_FILE = -1
_MAX_COLUMNS_BYTES = 1 << 30
"""The size limit of files that are read into memory for columns. No game fills a tenth of it, but a file with a hole
can have a terabyte."""
_FRAMES_PER_BATCH = 1024
_FOLLOW_POLL_SECONDS = 0.05

Sending = Literal["first", "last"]
"""Which transmission of a rolled-back frame counts. `first` is the one that the player saw, and `last` the one that the
game kept."""

Output_co = TypeVar("Output_co", covariant=True)


class _Decoder(Protocol[Output_co]):
    """The interface that readers (bytes to events) and pipelines (bytes to messages) share."""

    def feed(self, data: bytes) -> Output_co:
        """Take the next bytes of the file."""

    def rewrite(self, header: bytes) -> Output_co:
        """Take the first bytes of the file again, after they have changed."""

    def finish(self) -> Output_co:
        """Note that the file is complete."""

    @property
    def closed(self) -> bool:
        """Whether further bytes can't change the log any more."""

    @property
    def pending(self) -> bool:
        """Whether `more` has any frames left to return."""

    def more(self, max_frames: int) -> Output_co:
        """Decode at most this many further frames."""


class Replay:
    """A replay on disk. Opening it only reads its first bytes, and the rest is read when you need it.

    `frames` needs the extra `analysis`. Everything else works without it.
    """

    def __init__(self, path: Path, *, strict: bool = False, personal: bool = False) -> None:
        """Open a replay. For the arguments, have a look at `open_replay`.

        Raises `SourceError` if the file can't be read, and `FormatError` if its first bytes are not those of a replay.
        If a file begins like a replay but does not contain any game, you get the `FormatError` when you first use it.
        """
        self.path = path
        self._stats: dict[tuple[bool, bool], SlippiStats] = {}
        self._options = {"strict": strict, "personal": personal}
        self._name, self._head, size_bytes = read_head(path)
        self._fits = size_bytes <= _MAX_COLUMNS_BYTES
        self._format = of_name(self._name, self._head, size_bytes)
        sniff = self._format.sniff
        if sniff is None or sniff(self._head, size_bytes, self._name) != "yes":
            self.start  # noqa: B018 -- raises the error of an invalid file

    @cached_property
    def start(self) -> GameStart:
        """The Game Start event. To get it, only the part of the file up to this event is read."""
        whole: WholeGame | None = self.__dict__.get("_whole")
        if whole is not None and not any(self._options.values()):  # already read
            return whole.start
        found = first_of(GameStart, self.new_reader().feed(self._head))
        if found is not None:
            return found
        reader = self.new_reader()
        for events in _read_to_end(self.path, reader):
            found = first_of(GameStart, events)
            if found is not None:
                return found
            if reader.failure is not None:
                break
        raise reader.failure or FormatError("no game in it", offset=len(self._head))

    def __repr__(self) -> str:
        return f"<{self.format} replay {self.path.name}>"

    @property
    def format(self) -> str:
        """`slippi`, `gci`, `stunts`, `mk8`, or the name of a format that another package has registered."""
        return self._format.name

    @property
    def has_columns(self) -> bool:
        """Whether the format supports `frames`. These also need the extra `analysis`."""
        return self._format.whole is not None

    def new_reader(self) -> Reader:
        """Return a new reader for the bytes of this file."""
        return self._format.new_reader(self._name, **self._options)

    @property
    def game_id(self) -> str:
        """The id of the game, which is 32 hex digits."""
        return self.start.game_id

    @property
    def settings(self) -> Settings:
        """The settings of the game. Type checkers expect those of Slippi; for other formats, use `start.settings`."""
        settings: Settings = self.start.settings
        return settings

    @cached_property
    def game_end(self) -> GameEnd:
        """The end of the game. Its reason is `incomplete` if the file breaks off."""
        end = self._whole.end if self._whole is not None else first_of(GameEnd, self.events())
        if end is None:
            raise FormatError("the game has no end", offset=0)
        return end

    @cached_property
    def metadata(self) -> dict[str, Any] | None:
        """The metadata of the file, or `None` if there isn't any."""
        found = self._whole.metadata if self._whole is not None else first_of(Metadata, self.events())
        return None if found is None else dict(found.metadata)

    @cached_property
    def codes(self) -> CodeList | None:
        """The codes that were loaded into the game (the Gecko list), or `None` if the replay doesn't contain them.

        Raises `FormatError` if the list is damaged. Only the beginning of the file is read.
        """
        return read_codes(self.path)

    @property
    def frames(self) -> Frames:
        """The frames as columns.

        Raises `ModuleNotFoundError` without the extra `analysis`, and `Unsupported` for a format without columns or a
        file of more than a gigabyte.
        """
        if not self._fits:
            raise UnsupportedFile(f"too large for columns, {_MAX_COLUMNS_BYTES >> 30} GiB at most")
        if self._format.whole is None:
            raise UnsupportedFile(f"{self._format.name} replays have no columns")
        whole = self._format.whole(self._data) if self._whole is None else self._whole
        frames: Frames = whole.frames
        return frames

    def training_rows(self, *, sending: Sending = "last") -> TrainingRows:
        """Return the rows of `slpstream export --to training` as a dict of numpy arrays.

        These are columns by name, with one row per frame. `sending` chooses the transmission of a rolled-back
        frame. You get either the last one, from which the game continued, or the first one, which the player saw. This
        raises the same errors as `frames`, and also `Unsupported` if there aren't exactly two players.
        """
        rows: TrainingRows = _training("training_rows")(self.frames, self.settings, sending=sending)
        return rows

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The diagnostics about unusual or wrong bytes."""
        return [event for event in self.events() if isinstance(event, Diagnostic)]

    def stats(self, *, compat: bool = False, crew: bool = False) -> Stats:
        """Return the stats of the game. They are the same as in its last `stats` message.

        With `compat`, everything is counted exactly like in slippi-js 9.1.2. With `crew`, the game is treated as part
        of a crew battle. The extra `analysis` halves the time for a game with a Game End. Raises `Unsupported` for a
        format without stats.
        """
        return self._computed(compat=compat, crew=crew).stats()

    def stadium_stats(self) -> TargetTest | HomeRun | None:
        """Return the stats of a target test or home-run contest (slippi-js `getStadiumStats`), or `None` for other
        games.
        """
        return self._computed(compat=False, crew=False).stadium()

    def controllers(self) -> ControllerReport:
        """Return findings about the controllers, which are based on the inputs.

        Raises `Unsupported` for a format without stats.
        """
        from slpstream.formats.slippi.stats import SlippiStats  # noqa: PLC0415 -- loaded on demand

        if self._format.make_stats() is not SlippiStats:
            raise UnsupportedFile(f"{self._format.name} replays have no controllers to check")
        check = _of_part("check_controllers", "the check of controllers needs the part controllers")
        found: ControllerReport = check(self.settings, _read_to_end(self.path, self.new_reader()))
        return found

    def situations(self, query: str) -> list[Occurrence]:
        """Return the situations in this game that match a query, in the order in which they are complete.

        The extra `analysis` makes this many times faster. Raises `ValueError` if the query isn't valid, and
        `Unsupported` for other formats than Slippi.
        """
        find = _of_part("find_situations", "the search for situations needs the part situations")
        whole = self._whole
        settings = self.settings if whole is None else whole.start.settings
        found: list[Occurrence] | None = find(query, settings, whole, _read_to_end(self.path, self.new_reader()))
        if found is None:
            raise UnsupportedFile(f"{self._format.name} replays have no situations")
        return found

    def _computed(self, *, compat: bool, crew: bool) -> SlippiStats:
        from slpstream.formats.slippi.stats import SlippiStats  # noqa: PLC0415 -- loaded on demand
        from slpstream.formats.slippi.stats.game import whole_stats  # noqa: PLC0415

        self.start  # noqa: B018 -- raises the error of an invalid file
        make = self._format.make_stats()
        if make is not SlippiStats:
            other = "stats of another kind than Slippi's, in the messages of the topic stats"
            raise UnsupportedFile(f"{self._format.name} replays have {'no stats' if make is None else other}")
        known = self._stats.get((compat, crew))
        if known is None:
            reader = self.new_reader()
            known = whole_stats(_read_to_end(self.path, reader), compat=compat, crew=crew)
            if known is None:
                raise reader.failure or FormatError("no game in it", offset=0)
            self._stats[compat, crew] = known
        return known

    def events(self) -> list[Event]:
        """Return all events in log order, in the same way as you get them from a live game.

        There is one `Frame` for each transmission of a frame.
        """
        self.start  # noqa: B018 -- raises the error of an invalid file
        return [event for events in _read_to_end(self.path, self.new_reader()) for event in events]

    @cached_property
    def _data(self) -> bytes:
        if is_log(self.path) or is_packed(self.path):
            return b"".join(read_chunks(self.path, _WHOLE_FILE))
        try:
            return read_to_end(self.path)
        except OSError as error:
            raise unreadable(self.path, error) from error

    @cached_property
    def _whole(self) -> WholeGame | None:
        """The game, decoded in one batch. This is `None` if the format doesn't support it or numpy is not installed."""
        if self._format.whole is None or not self._fits or find_spec("numpy") is None:
            return None
        return self._format.whole(self._data)


def open_replay(path: str | PathLike[str], *, strict: bool = False, personal: bool = False) -> Replay:
    """Open a replay on disk. It may be compressed or in an archive, for example `archive.zip::game.slp`.

    With `strict`, a file with a wrong checksum is refused. With `personal`, you get data that identifies a person, in
    addition to the name that the game shows. Raises `SourceError` if the file can't be read, and `FormatError` if it is
    not a replay.
    """
    path = path if isinstance(path, Path) else Path(path)  # making one takes longer than opening the file
    return Replay(path, strict=strict, personal=personal)


def preview_replay(path: str | PathLike[str]) -> Preview | None:
    """Return the start, the end and the metadata of a finished replay.

    Only the first and last bytes of the file are read. Returns `None` if these bytes aren't enough or if the format
    does not support previews. In this case, use `open_replay`. Raises `SourceError` if the file cannot be read, and
    `FormatError` if it is not a replay.
    """
    file = Path(path)
    head, tail, tail_offset = b"", b"", 0
    try:
        with open_file(file) as opened:
            head = opened.read(_PREVIEW_BYTES)
            size_bytes = opened.seek(0, os.SEEK_END)
            preview = of_name(_name(file), head[:SNIFFED_BYTES], size_bytes).preview
            if preview is None:
                return None
            tail_offset = max(0, size_bytes - _PREVIEW_BYTES)
            opened.seek(tail_offset)
            tail = opened.read()
        return preview(head, tail, tail_offset)
    except FormatError as error:
        if error.offset < len(head) or tail_offset + len(tail) <= len(head):
            raise
        return None  # Game Start lies beyond the head
    except OSError as error:
        raise Unreadable(path_text(file), error.strerror or "cannot be read") from error


def read_game(path: Path, *, stats: bool = False) -> DescribedGame:
    """Describe the game in a file for the index. This blocks.

    If the two ends of the file are enough, only these are read. With `stats`, the whole file is read. Raises
    `SourceError` if the file can't be read, and `FormatError` if it does not contain any game.
    """
    if not stats:
        preview = preview_replay(path)
        if preview is not None:
            found = DescribedGame(preview.start)
            found.take(preview[1:])
            return found
    pipeline = Pipeline(open_replay(path).new_reader(), make_stats=new_stats if stats else lambda start: None)
    game = DescribedGame.of(event for batch in _read_to_end(path, pipeline) for event in batch.notable)
    if game is None:
        raise pipeline.failure or FormatError("no game in it", offset=0)
    return game


def read_codes(path: Path) -> CodeList | None:
    """Return the codes that were loaded into the game in a file, or `None` if the file doesn't contain them.

    This blocks. Raises `SourceError` if the file cannot be read, and `FormatError` if the list of codes is damaged.
    """
    read = of_name(*read_head(path)).codes
    return None if read is None else read(read_chunks(path))


def _name(path: Path) -> str:
    return packed_name(path) if is_packed(path) else path.name


def messages(
    path: str | PathLike[str],
    *,
    frames: FramesMode = "live",
    topics: Iterable[str] = TOPICS,
    strict: bool = False,
    personal: bool = False,
    growing: bool = False,
) -> Iterator[LogMessage]:
    """Iterate over the log messages of a replay in order. It can be finished or not.

    `message.json()` is the line that `slpstream dump` prints. `topics` selects messages, and by default you get all of
    them. With `growing`, the file is treated as if it is still being written. This leaves out those messages that need
    the end of the file (an incomplete last frame, and the end `incomplete`), just like in a daemon that waits for more
    bytes.

    Raises `SourceError` if the file can't be read, and `FormatError` if it is not a replay. If a replay breaks off or
    is damaged later, it ends with a `diagnostic` and a `game_end` instead.
    """
    wanted = frozenset(topics)
    replay = Path(path)
    name, head, size_bytes = read_head(replay)
    format_ = of_name(name, head, size_bytes)
    pipeline = Pipeline(format_.new_reader(name, strict=strict, personal=personal), (frames,))
    if growing and not format_.written_whole:
        for chunk in read_chunks(replay):
            yield from _wanted(pipeline.feed(chunk).messages(frames), wanted)
    else:
        for batch in _read_to_end(replay, pipeline):
            yield from _wanted(batch.messages(frames), wanted)
    if pipeline.failure is not None and pipeline.game_id is None:
        raise pipeline.failure


@overload
def follow(
    path: str | PathLike[str], *, frames: FramesMode = "live", topics: Iterable[str] = TOPICS
) -> LiveIterator[LogMessage]: ...


@overload
def follow(
    path: str | PathLike[str], *, layout: Literal["training"], sending: Sending = "last"
) -> LiveIterator[np.void]: ...


def follow(
    path: str | PathLike[str],
    *,
    frames: FramesMode = "live",
    topics: Iterable[str] = TOPICS,
    layout: Literal["messages", "training"] = "messages",
    sending: Sending = "last",
) -> LiveIterator[Any]:
    """Iterate over the log messages of a replay while it is being written, until the game closes the file.

    With `layout="training"`, you iterate over rows instead, with one row per frame. These are the rows of `slpstream
    export --to training` for the finished file, as numpy values with named fields (such as `row["p0_post_percent"]`).
    With `sending="last"`, you get a row when its frame is final, and with `"first"`, when its frame is transmitted for
    the first time. Raises `Unsupported` for a game that doesn't have exactly two players.

    Use `for` in a plain program, and `async for` under asyncio (for example in a notebook) or trio. The file is read in
    a thread, which ends with the iterator; `LiveIterator` explains how to end it early.

    If the format is written in one go, a file counts as complete once it has not changed for a second. Raises
    `SourceError` if the file does not behave like a log (because it shrinks, is replaced or vanishes), and
    `FormatError` if it is not a replay.
    """
    file, wanted = real_path(Path(path)), frozenset(topics)
    if file.is_dir():
        raise Unreadable(str(path), "is a directory")
    if layout == "training":
        return LiveIterator(lambda: _follow_rows(file, sending), f"rows of {file.name}")
    return LiveIterator(lambda: _follow_messages(file, frames, wanted), f"messages of {file.name}")


async def _follow_rows(file: Path, sending: Sending) -> AsyncGenerator[np.void, None]:
    """Iterate over the rows of a game while its file is being written."""
    format_ = of_name(file.name)
    if format_.whole is None:
        raise UnsupportedFile(f"{format_.name} replays have no columns")
    reader, rows = format_.new_reader(file.name), _training("live_training_rows")(sending=sending)
    async with aclosing(_decoded(file, format_, reader)) as batches:
        async for events in batches:
            for row in rows.take(events):
                yield row
            if reader.failure is not None and not rows.began:
                raise reader.failure


def _training(name: str) -> Callable[..., Any]:
    """Return a function of the part `training`. Raises `ModuleNotFoundError` without this part."""
    return _of_part(name, "rows for training need the part training")


def _of_part(name: str, needed: str) -> Callable[..., Any]:
    """Return the function with this name that a part implements. Raises `ModuleNotFoundError` without this part."""
    from slpstream.parts import registry  # noqa: PLC0415 -- few functions are implemented by parts

    function = registry.function(name)
    if function is None:
        raise ModuleNotFoundError(f"{needed}, which this installation lacks")
    return function


async def _follow_messages(file: Path, frames: FramesMode, wanted: frozenset[str]) -> AsyncGenerator[LogMessage, None]:
    """Iterate over the log messages of a replay while it is being written."""
    format_ = of_name(file.name)
    if format_.written_whole:
        await _wait_until_unchanged(file)
        for message in messages(file, frames=frames, topics=wanted):
            yield message
        return
    pipeline = Pipeline(format_.new_reader(file.name), (frames,))
    async with aclosing(_decoded(file, format_, pipeline)) as batches:
        async for batch in batches:
            for message in _wanted(batch.messages(frames), wanted):
                yield message
            if pipeline.failure is not None and pipeline.game_id is None:
                raise pipeline.failure


async def _decoded(file: Path, format_: Format, decoder: _Decoder[Output_co]) -> AsyncGenerator[Output_co, None]:
    """Feed a growing file to a reader or pipeline, and yield the results, until further bytes can't change the log any
    more.
    """
    from slpstream.sources.tail.events import Grew, Rewritten  # noqa: PLC0415 -- slow, because it loads trio
    from slpstream.sources.tail.one_file import tail_of_file  # noqa: PLC0415 -- the same

    async with tail_of_file(
        file, rewritable_bytes=format_.rewritable_bytes, poll_seconds=_FOLLOW_POLL_SECONDS
    ) as events:
        async for event in events:
            if isinstance(event, Grew):
                yield decoder.feed(event.data)
            elif isinstance(event, Rewritten):
                yield decoder.rewrite(event.data)
            if decoder.closed:
                return


async def _wait_until_unchanged(file: Path) -> None:
    """Wait until a file hasn't changed for a second."""
    import trio  # noqa: PLC0415 -- loading it takes longer than reading a game

    before: os.stat_result | None = None
    while True:
        try:
            now = await trio.to_thread.run_sync(os.stat, file)
        except OSError as error:
            raise Unreadable(str(file), error.strerror or "cannot be read") from error
        if before is not None and (before.st_size, before.st_mtime_ns) == (now.st_size, now.st_mtime_ns):
            return
        before = now
        await trio.sleep(REST_SECONDS)


def _read_to_end(path: Path, decoder: _Decoder[Output_co]) -> Iterator[Output_co]:
    """Feed a whole file to a reader or pipeline, and yield the results. Raises `SourceError` if it can't be read.

    After the end of the log, we only read one more chunk. We need this one because its first bytes can cause a
    diagnostic.
    """
    for chunk in read_chunks(path):
        was_closed = decoder.closed
        yield decoder.feed(chunk)
        if was_closed:
            break
    yield decoder.finish()
    while decoder.pending:
        yield decoder.more(_FRAMES_PER_BATCH)


def _wanted(batch: list[LogMessage], topics: frozenset[str]) -> Iterator[LogMessage]:
    return (message for message in batch if message.topic in topics)
