"""The things that make up a format: how its files are recognised, read and summarised, and how their stats are
computed.
"""

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
    """Decodes one game.

    You feed it the bytes of a file in order, in pieces of any size, and it returns the events that they contain.
    """

    @property
    def failure(self) -> FormatError | None:
        """If the bytes were wrong, this is the error that ended the log. A diagnostic reports it too."""

    @property
    def closed(self) -> bool:
        """Whether the log is complete, so that it stays the same no matter which bytes follow."""

    def feed(self, data: bytes) -> list[Event]:
        """Decode the next bytes of the file."""

    def rewrite(self, header: bytes) -> list[Event]:
        """Take the first `rewritable_bytes` of the file again, because the game has changed them."""

    def finish(self) -> list[Event]:
        """Tell the reader that the file ends here, so the log has to end too."""

    @property
    def pending(self) -> bool:
        """Whether you will get more events if you call `more`."""

    def more(self, max_frames: int) -> list[Event]:
        """Return the events of at most `max_frames` more frames.

        This is for formats that only expand frames when asked to.
        """

    def take_command_counts(self) -> dict[str, int]:
        """Return how many events of each command were read since the last time you called this."""

    def copy(self) -> Self:
        """Return a copy of this reader. It has the same state, but is independent from then on."""


class StatsComputer(Protocol):
    """Computes stats (`StatsUpdate`) and derived events (`GameEvent`) from the final frames of one game.

    The index stores those values of the stats that are plain, and also `overall`, which should contain the totals of
    each player.
    """

    def feed(self, frame: Frame, end_offset: int) -> list[Event]:
        """Take the next final frame, and return the events that it causes. You get each frame number once, in order.

        Make sure that the events carry `end_offset`. This is the offset in the file just after the bytes that made the
        frame final.
        """

    def finish(self, end: GameEnd) -> list[Event]:
        """Take the end of the game, and return the events that it causes."""

    def copy(self) -> Self:
        """Return a copy of this computer. It has the same state, but is independent from then on."""


class WholeGame(Protocol):
    """A whole game in memory. This is what you get if you use the batch path of a format."""

    @property
    def start(self) -> GameStart:
        """The Game Start."""

    @property
    def end(self) -> GameEnd:
        """The end of the game."""

    @property
    def metadata(self) -> Metadata | None:
        """The metadata, or `None` if there isn't any in the file."""

    @property
    def frames(self) -> Any:
        """The frames, as columns."""


class Preview(NamedTuple):
    """The events that we get from just the first and last bytes of a finished replay."""

    start: GameStart
    end: GameEnd
    metadata: Metadata


class Edits(NamedTuple):
    """The changes that should be made in a copy of a replay, for example so that a program which imports the replays of
    a tournament finds the right names in them.
    """

    names: Mapping[int, str] = {}
    """Names of players, by player index. Other players keep their names."""
    started_at_ms: int | None = None
    """When the game began, as Unix time; `None` keeps the time in the replay."""
    last_frame: int | None = None
    """The number of the last frame, for a replay without metadata."""


class ReaderOptions(NamedTuple):
    """Everything that a reader can be told in addition to the bytes."""

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
    """A replay format. To add support for another game, create one of these and register it."""

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
        """Create a reader for a file with the given name."""
        return self.reader(ReaderOptions(name, strict, personal))

    def make_stats(self) -> MakeStats | None:
        """Return `stats`. If it is a text, the thing that it refers to is imported first.

        Returns `None` if the format doesn't have stats.
        """
        if isinstance(self.stats, str):
            resolved: MakeStats = pkgutil.resolve_name(self.stats)
            return resolved
        return self.stats
