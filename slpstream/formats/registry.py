"""The registry of formats: picks the format of a file by its name and first bytes, and of a game by the format's name.

The built-in formats are in `_OURS`; installed packages add others through the entry-point group `slpstream.formats`
(`deploy/docs/add_a_format.md`). No module above `formats` and `stats` knows a format by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from typing import Any

import msgspec

from slpstream.formats import gci, mk8, stunts
from slpstream.formats.gci import names as gci_names
from slpstream.formats.gci.reader import GciReader
from slpstream.formats.gci.summary import describe as describe_gci
from slpstream.formats.interface import Format, Reader, ReaderOptions, StatsComputer, WholeGame
from slpstream.formats.mk8 import names as mk8_names
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.summary import describe as describe_mk8
from slpstream.formats.slippi import container
from slpstream.formats.slippi import names as slippi_names
from slpstream.formats.slippi.preview import read_preview
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.summary import describe as describe_slippi
from slpstream.formats.stunts import names as stunts_names
from slpstream.formats.stunts.reader import StuntsReader
from slpstream.formats.stunts.summary import describe as describe_stunts
from slpstream.model.errors import ConfigError
from slpstream.model.events import GameEnd, GameStart
from slpstream.model.summary import GameSummary

ENTRY_POINTS = "slpstream.formats"


def _whole_slippi(data: bytes) -> WholeGame:
    from slpstream.formats.slippi.whole_game import WholeGame as SlippiGame  # noqa: PLC0415 -- numpy is an extra

    return SlippiGame(data)


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
        names=slippi_names.FOLDER,
        preview=read_preview,
        describe=describe_slippi,
        stats="slpstream.stats.game:SlippiStats",
    ),
    Format(
        "gci",
        (".gci",),
        _whole_file_reader(GciReader),
        written_whole=True,
        sniff=gci.sniff,
        names=gci_names.FOLDER,
        describe=describe_gci,
    ),
    Format(
        "stunts",
        (".rpl",),
        _whole_file_reader(StuntsReader),
        written_whole=True,
        sniff=stunts.sniff,
        names=stunts_names.FOLDER,
        describe=describe_stunts,
    ),
    Format(
        "mk8",
        (".dat",),
        _whole_file_reader(Mk8Reader),
        written_whole=True,
        sniff=mk8.sniff,
        names=mk8_names.FOLDER,
        describe=describe_mk8,
    ),
)


@functools.cache
def formats() -> tuple[Format, ...]:
    """All formats: the built-in ones, then those of installed packages by name.

    Raises `ConfigError` for a package that cannot be loaded, that registers something other than a `Format`, or whose
    name is already taken.
    """
    found = list(_OURS)
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            format_ = entry.load()
        except (ImportError, AttributeError, TypeError) as error:  # TypeError: made for another version of `Format`
            raise ConfigError(f"entry point {entry.name}", entry.value, f"cannot be loaded: {error}") from error
        if not isinstance(format_, Format):
            raise ConfigError(f"entry point {entry.name}", entry.value, "expected a slpstream.formats.Format")
        if any(format_.name == other.name for other in found):
            raise ConfigError(f"entry point {entry.name}", entry.value, f"the name {format_.name} is taken")
        found.append(format_)
    return tuple(found)


@functools.cache
def name_folders() -> Mapping[str, Path]:
    """The folders with tables of names, by format."""
    return {format_.name: format_.names for format_ in formats() if format_.names is not None}


@functools.cache
def suffixes() -> tuple[str, ...]:
    """All file name endings for which watched folders are searched."""
    return tuple(dict.fromkeys(suffix for format_ in formats() for suffix in format_.suffixes))


def choose(name: str, head: bytes = b"", size_bytes: int | None = None) -> Format | None:
    """The format of a file by its name and, if given, its first bytes (`SNIFFED_BYTES` are enough).

    Formats with the name's ending are asked first, then all that recognise bytes. `None` when no format has the ending,
    or when a file of another kind has it.
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
    """The same for a file that is meant to be a replay. Where no format fits, it is the format of the file name's
    ending, or else Slippi, whose reader then reports what is wrong."""
    return choose(name, head, size_bytes) or choose(name) or formats()[0]


def format_called(name: str) -> Format | None:
    """The format with this name; `None` when it is not installed."""
    return next((format_ for format_ in formats() if format_.name == name), None)


def describe(start: GameStart, end: GameEnd | None = None, metadata: Mapping[str, Any] | None = None) -> GameSummary:
    """The neutral summary of a game, as far as it has been read.

    It is empty when the format gives none, is not installed, or does not understand the settings.
    """
    format_ = format_called(start.format)
    if format_ is None or format_.describe is None:
        return GameSummary()
    if end is not None:
        game_end, winners = msgspec.to_builtins((end.game_end, end.winners))
        end = msgspec.structs.replace(end, game_end=game_end, winners=winners)
    try:
        return format_.describe(msgspec.to_builtins(start.settings), end, metadata)
    except msgspec.ValidationError:
        return GameSummary()


def new_stats(start: GameStart) -> StatsComputer | None:
    """A stats computer for a game that begins; `None` for a format without stats."""
    format_ = format_called(start.format)
    make = None if format_ is None else format_.make_stats()
    return None if make is None else make(start.settings)
