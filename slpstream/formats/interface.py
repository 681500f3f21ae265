"""The parts of a format: how its files are recognised, read, summarised and given stats."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self

from slpstream.model.errors import FormatError
from slpstream.model.events import Event, Frame, GameEnd, GameStart, Metadata
from slpstream.model.setup import CodeList, RevealedSetup
from slpstream.model.summary import GameSummary

SNIFFED_BYTES = 0x500
"""`sniff` is given at most this many bytes."""
REST_SECONDS = 1.0
"""A file that the game writes in one go is complete when it has not changed for this long."""


class Reader(Protocol):
    """Decodes one game: takes the bytes of its file in order, in pieces of any size, and returns events."""

    @property
    def failure(self) -> FormatError | None:
        """The error that ended the log, when the bytes were wrong."""

    @property
    def closed(self) -> bool:
        """Whether no further byte can change the log."""

    def feed(self, data: bytes) -> list[Event]:
        """Decode the next bytes of the file."""

    def rewrite(self, header: bytes) -> list[Event]:
        """Take `header`, the first `rewritable_bytes` of the file, which the game has changed."""

    def finish(self) -> list[Event]:
        """End the log: the file has no further bytes."""

    @property
    def pending(self) -> bool:
        """Whether `more` has further events to return."""

    def more(self, max_frames: int) -> list[Event]:
        """Return the events of at most `max_frames` further frames. For formats that expand frames on demand."""

    def take_command_counts(self) -> dict[str, int]:
        """Return the number of events of each command that were read since the last call."""

    def copy(self) -> Self:
        """Return an independent reader in the same state."""


class StatsComputer(Protocol):
    """Computes stats (`StatsUpdate`) and derived events (`GameEvent`) from the final frames of one game.

    The index keeps the plain values of the stats, and `overall`, the totals of each player.
    """

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take the next final frame and return the events that it causes. Each number comes once, in order.

        The events must carry `end_offset`, the file offset just past the bytes that made the frame final.
        """

    def finish(self, end: GameEnd) -> list[Event]:
        """Take the end of the game and return the events that it causes."""

    def copy(self) -> Self:
        """Return an independent computer in the same state."""


class WholeGame(Protocol):
    """A whole game in memory: the result of a format's batch path."""

    @property
    def start(self) -> GameStart:
        """The Game Start."""

    @property
    def end(self) -> GameEnd:
        """The end of the game."""

    @property
    def metadata(self) -> Metadata | None:
        """The metadata; `None` when the file has none."""

    @property
    def frames(self) -> Any:
        """The frames as columns."""


class Preview(NamedTuple):
    """The events in the first and last bytes of a finished replay."""

    start: GameStart
    end: GameEnd
    metadata: Metadata


class Edits(NamedTuple):
    """Changes to make in a copy of a replay, for programs that import the replays of a tournament."""

    names: Mapping[int, str] = {}
    """Names of players, by player index. Other players keep their names."""
    started_at_ms: int | None = None
    """When the game began, as Unix time; `None` keeps the time in the replay."""
    last_frame: int | None = None
    """The number of the last frame, for a replay without metadata."""


class ReaderOptions(NamedTuple):
    """Options of a reader besides the bytes."""

    name: str = ""
    """The file's name without its folder. Some formats keep data in it."""
    strict: bool = False
    """Turn warnings, such as a wrong checksum, into errors."""
    personal: bool = False
    """Include data that identifies a person beyond the name that the game shows."""


Sniff = Callable[[bytes, int | None, str], Literal["yes", "no", "maybe"]]
"""(first bytes, size of the file or `None`, file name) to whether the file is of the format. Never raises."""

Describe = Callable[[Any, GameEnd | None, Mapping[str, Any] | None], GameSummary]
"""(settings, end or `None`, metadata or `None`) to the summary of a game.

It is called at Game Start with only the settings, and again with the end and the metadata. Settings, `end.game_end` and
`end.winners` are plain JSON values, as in the messages, because they can come from the index or from a broker. Raises
`msgspec.ValidationError` for settings that it does not understand, for example those of another version."""

ReadCodes = Callable[[Iterable[bytes]], CodeList | None]
"""(the bytes of a file, in pieces, read only as far as needed) to the codes that were loaded into the game; `None` when
the file does not contain them. Raises `FormatError` for a damaged list."""

DescribeSetup = Callable[[Any, CodeList | None, Mapping[str, Any] | None], RevealedSetup]
"""(settings, codes or `None`, metadata or `None`) to the setup: the machine and its rules, as the game reveals them.

The settings are plain JSON values, as for `Describe`. Values that the game does not reveal are left out. Raises
`msgspec.ValidationError` for settings that it does not understand."""

MakeStats = Callable[[Any], StatsComputer]
"""(settings of `GameStart`) to a computer for that game."""


class Format(NamedTuple):
    """A replay format."""

    name: str
    suffixes: tuple[str, ...]
    """File name endings, lower case with the dot."""
    reader: Callable[[ReaderOptions], Reader]
    rewritable_bytes: int = 0
    """The number of bytes at the start of the file that the game can change after it has written them."""
    written_whole: bool = False
    """Whether the game writes the file in one go. Then `finish` is called once the file has stopped changing."""
    sniff: Sniff | None = None
    """Recognises the format by the first bytes of a file. Without it, the file name decides."""
    whole: Callable[[bytes], WholeGame] | None = None
    """The batch path: a whole file to columns. Takes the extra `analysis`."""
    preview: Callable[[bytes, bytes, int], Preview | None] | None = None
    """(first bytes, last bytes, file offset of the last bytes) to the preview; `None` when the whole file has to be
    read."""
    describe: Describe | None = None
    """Summarises a game in neutral words. Without it, games have no names, place or winners."""
    stats: MakeStats | str | None = None
    """Makes the stats computer of a game. A text `"package.module:name"` is imported when the first game begins."""

    codes: ReadCodes | None = None
    """Reads the codes that were loaded into the game."""
    setup: DescribeSetup | None = None
    """Describes the setup (the machine and its rules), which is compared between games. Without it, the setups
    of the format's games are not compared."""
    names: Path | None = None
    """Folder with the format's tables of names (`slpstream.formats.name_tables`). Its JSON files are served to pages as
    `/static/names/{format}/`."""
    is_finished: Callable[[bytes], bool] | None = None
    """Whether the first `rewritable_bytes` of a file show that the game has finished writing it. Without it, every
    new file counts as unfinished, unless the format is `written_whole`."""

    edited: Callable[[bytes, Edits], Sequence[bytes | memoryview]] | None = None
    """(a whole finished replay, edits) to the parts of the copy, in order. Frames are not changed. Edits for which the
    replay has no field are ignored. Raises `FormatError` for a replay that cannot be edited. Without it, copies of
    the format's replays are unchanged."""
    is_fallback: bool = False
    """Whether the format's reader reports the error in files that no format recognises. Only one built-in format has
    this."""

    def new_reader(self, name: str = "", *, strict: bool = False, personal: bool = False) -> Reader:
        """Return a reader for a file of this name."""
        return self.reader(ReaderOptions(name, strict, personal))

    def make_stats(self) -> MakeStats | None:
        """Return `stats`, imported if it is a text; `None` for a format without stats."""
        if isinstance(self.stats, str):
            resolved: MakeStats = pkgutil.resolve_name(self.stats)
            return resolved
        return self.stats
