"""The registry of formats: look at the name and the first bytes, answer with a format.

A `Format` says which files can be its own, and makes a reader for one of them. Ours stand in `_OURS`; others come from
installed packages, by the entry-point group `slpstream.formats` (`deploy/docs/add_a_format.md`). Nothing above this
module knows a format by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, Protocol, Self

from slpstream import gci, mk8, stunts
from slpstream.errors import ConfigError, FormatError
from slpstream.events import Event, GameEnd, GameStart, Metadata
from slpstream.gci.reader import GciReader
from slpstream.gci.settings import summary as gci_summary
from slpstream.mk8.reader import Mk8Reader
from slpstream.mk8.settings import summary as mk8_summary
from slpstream.slippi import container
from slpstream.slippi.ends import Ends, read_ends
from slpstream.slippi.reader import SlippiReader
from slpstream.slippi.summary import summary as slippi_summary
from slpstream.stunts.reader import StuntsReader
from slpstream.stunts.reader import summary as stunts_summary

ENTRY_POINTS = "slpstream.formats"
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

    def more(self, most_frames: int) -> list[Event]:
        """The events of at most `most_frames` further frames, where a format expands them as they are taken."""

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


def _whole_slippi(data: bytes) -> WholeGame:
    from slpstream.slippi.whole_game import WholeGame as SlippiGame  # noqa: PLC0415 -- numpy is for those who ask

    return SlippiGame(data)


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


def _whole_file_reader(reader: Callable[..., Reader]) -> Callable[[ReaderOptions], Reader]:
    return lambda options: reader(**options._asdict())


_OURS: tuple[Format, ...] = (
    Format(
        "slippi",
        (".slp",),
        lambda options: SlippiReader(),
        rewritable_bytes=container.HEADER_BYTES,
        sniff=container.sniff,
        whole=_whole_slippi,
        ends=read_ends,
        summary=slippi_summary,
    ),
    Format("gci", (".gci",), _whole_file_reader(GciReader), written_whole=True, sniff=gci.sniff, summary=gci_summary),
    Format(
        "stunts",
        (".rpl",),
        _whole_file_reader(StuntsReader),
        written_whole=True,
        sniff=stunts.sniff,
        summary=stunts_summary,
    ),
    Format("mk8", (".dat",), _whole_file_reader(Mk8Reader), written_whole=True, sniff=mk8.sniff, summary=mk8_summary),
)


@functools.cache
def formats() -> tuple[Format, ...]:
    """All formats: ours, then those of installed packages by name. Raises `ConfigError` for a package that registers
    something else, or a name that is taken."""
    found = list(_OURS)
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            format_ = entry.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"entry point {entry.name}", entry.value, f"cannot be loaded: {error}") from error
        if not isinstance(format_, Format):
            raise ConfigError(f"entry point {entry.name}", entry.value, "expected a slpstream.formats.Format")
        if any(format_.name == other.name for other in found):
            raise ConfigError(f"entry point {entry.name}", entry.value, f"the name {format_.name} is taken")
        found.append(format_)
    return tuple(found)


@functools.cache
def suffixes() -> tuple[str, ...]:
    """All file name endings that a watched folder is searched for."""
    return tuple(dict.fromkeys(suffix for format_ in formats() for suffix in format_.suffixes))


def choose(name: str, head: bytes = b"", size_bytes: int | None = None) -> Format | None:
    """The format of a file by its name and, where they are given, its first bytes (`SNIFFED_BYTES` are enough).

    The formats of the name's ending are asked first, then all that can tell by the bytes alone. `None` when the ending
    is nobody's or another kind of file has it, too.
    """
    suffix = PurePath(name).suffix.lower()
    by_ending = [format_ for format_ in formats() if suffix in format_.suffixes]
    if not head:
        return by_ending[0] if by_ending else None
    others = [format_ for format_ in formats() if format_ not in by_ending and format_.sniff is not None]
    for wanted, among in (("yes", by_ending), ("yes", others), ("maybe", by_ending)):
        for format_ in among:
            if format_.sniff is None or format_.sniff(head, size_bytes, name) == wanted:
                return format_
    return None


def of_name(name: str, head: bytes = b"", size_bytes: int | None = None) -> Format:
    """The same, for a file that is meant to be a replay: where nothing fits, the format of its ending, or Slippi, whose
    reader then says what is wrong."""
    return choose(name, head, size_bytes) or choose(name) or formats()[0]
