"""The registry of formats: look at the first bytes and the name, answer with a reader.

A format is a reader class with the methods of `Reader`. Its `suffixes` say which files are looked at, `sniff` says from
the first bytes whether they can be its own. Nothing above this module knows a format by name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol, Self

from slpstream.errors import FormatError
from slpstream.events import Event, GameEnd, GameStart, Metadata
from slpstream.slippi import container
from slpstream.slippi.reader import SlippiReader


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


class Format(NamedTuple):
    """A format that slpstream reads."""

    name: str
    suffixes: tuple[str, ...]
    """Of file names, lower case with the dot."""
    rewritable_bytes: int
    """How many bytes at the start of the file may change after they were written; 0 for none."""
    reader: Callable[[], Reader]
    whole: Callable[[bytes], WholeGame] | None = None
    """The batch path, of a whole file, where there is one. It takes the extra `analysis`."""


FORMATS: tuple[Format, ...] = (Format("slippi", (".slp",), container.HEADER_BYTES, SlippiReader, _whole_slippi),)

SUFFIXES: tuple[str, ...] = tuple(suffix for format_ in FORMATS for suffix in format_.suffixes)
"""All file name endings that a watched folder is searched for."""


def of_name(name: str) -> Format:
    """The format of a file by its name; Slippi where the ending says nothing, whose reader then refuses the bytes."""
    suffix = PurePath(name).suffix.lower()
    return next((format_ for format_ in FORMATS if suffix in format_.suffixes), FORMATS[0])
