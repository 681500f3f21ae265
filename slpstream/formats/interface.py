"""What a format is: how its files are recognised, and what reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, Self

from slpstream.formats.slippi.preview import Ends
from slpstream.model.errors import FormatError
from slpstream.model.events import Event, GameEnd, GameStart, Metadata

SNIFFED_BYTES = 0x500
"""What `sniff` looks at, at most."""
REST_SECONDS = 1.0
"""A file that is written in one go is complete when it has not changed for so long."""


class Reader(Protocol):
    """One game: fed with the bytes of its file in order, cut anywhere, it returns events."""

    @property
    def failure(self) -> FormatError | None:
        """What ended the log, when the bytes were wrong."""

    @property
    def closed(self) -> bool:
        """Nothing that can still be appended would change the log."""

    def feed(self, data: bytes) -> list[Event]:
        """The next bytes of the file."""

    def rewrite(self, header: bytes) -> list[Event]:
        """The first `rewritable_bytes` of the file have changed."""

    def finish(self) -> list[Event]:
        """No more bytes will come."""

    @property
    def pending(self) -> bool:
        """There are events that `more` has not returned yet."""

    def more(self, max_frames: int) -> list[Event]:
        """The events of at most `max_frames` further frames, where a format expands them as they are taken."""

    def take_command_counts(self) -> dict[str, int]:
        """How many events were read since the last call, by command."""

    def copy(self) -> Self:
        """An independent reader at the same place."""


class WholeGame(Protocol):
    """A whole game in memory, read at once: what the batch path of a format gives."""

    @property
    def start(self) -> GameStart:
        """The Game Start."""

    @property
    def end(self) -> GameEnd:
        """How it ended."""

    @property
    def metadata(self) -> Metadata | None:
        """What the file says of itself."""

    @property
    def frames(self) -> Any:
        """The frames as columns."""


class ReaderOptions(NamedTuple):
    """What a reader is told beside the bytes."""

    name: str = ""
    """The file's name, without its folder. Some formats keep data in it."""
    strict: bool = False
    """What is otherwise a warning about the bytes (a wrong checksum) refuses the file."""
    personal: bool = False
    """Keep what identifies a person beyond the name that the game shows."""


Sniff = Callable[[bytes, int | None, str], Literal["yes", "no", "maybe"]]
"""(first bytes, size of the file or `None`, its name): whether the file is of the format. Never raises."""


class Format(NamedTuple):
    """A format that slpstream reads."""

    name: str
    suffixes: tuple[str, ...]
    """Of file names, lower case with the dot."""
    reader: Callable[[ReaderOptions], Reader]
    rewritable_bytes: int = 0
    """How many bytes at the start of the file may change after they were written; 0 for none."""
    written_whole: bool = False
    """The file is written in one go, and is one finished game: its reader is told to `finish` when it has come to
    rest."""
    sniff: Sniff | None = None
    """Whether some bytes are of this format; without it the ending alone decides."""
    whole: Callable[[bytes], WholeGame] | None = None
    """The batch path, of a whole file, where there is one. It takes the extra `analysis`."""
    ends: Callable[[bytes, bytes, int], Ends | None] | None = None
    """What the first and the last bytes of a file say (and the file offset of the latter), where a format can tell
    from them; `None` when they do not tell."""

    summary: Callable[[Any, Any], tuple[str, str, str]] | None = None
    """Settings and winners to what a table for people shows: version, where, who (a line each)."""

    def new_reader(self, name: str = "", *, strict: bool = False, personal: bool = False) -> Reader:
        """A reader for a file of this name."""
        return self.reader(ReaderOptions(name, strict, personal))
