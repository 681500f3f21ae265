"""The registry of formats: look at the name and the first bytes, answer with a format.

A `Format` says which files can be its own, and makes a reader for one of them. Ours stand in `_OURS`; others come from
installed packages, by the entry-point group `slpstream.formats` (`deploy/docs/add_a_format.md`). Nothing above this
module knows a format by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path, PurePath

from slpstream.formats import gci, mk8, stunts
from slpstream.formats.gci import names as gci_names
from slpstream.formats.gci.reader import GciReader
from slpstream.formats.gci.settings import summary as gci_summary
from slpstream.formats.interface import Format, Reader, ReaderOptions, WholeGame
from slpstream.formats.mk8 import names as mk8_names
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.settings import summary as mk8_summary
from slpstream.formats.slippi import container
from slpstream.formats.slippi import names as slippi_names
from slpstream.formats.slippi.preview import read_ends
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.summary import summary as slippi_summary
from slpstream.formats.stunts import names as stunts_names
from slpstream.formats.stunts.reader import StuntsReader
from slpstream.formats.stunts.reader import summary as stunts_summary
from slpstream.model.errors import ConfigError

ENTRY_POINTS = "slpstream.formats"


def _whole_slippi(data: bytes) -> WholeGame:
    from slpstream.formats.slippi.whole_game import WholeGame as SlippiGame  # noqa: PLC0415 -- numpy is for those who ask

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
        ends=read_ends,
        summary=slippi_summary,
        names=slippi_names.FOLDER,
    ),
    Format(
        "gci",
        (".gci",),
        _whole_file_reader(GciReader),
        written_whole=True,
        sniff=gci.sniff,
        summary=gci_summary,
        names=gci_names.FOLDER,
    ),
    Format(
        "stunts",
        (".rpl",),
        _whole_file_reader(StuntsReader),
        written_whole=True,
        sniff=stunts.sniff,
        summary=stunts_summary,
        names=stunts_names.FOLDER,
    ),
    Format(
        "mk8",
        (".dat",),
        _whole_file_reader(Mk8Reader),
        written_whole=True,
        sniff=mk8.sniff,
        summary=mk8_summary,
        names=mk8_names.FOLDER,
    ),
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
def name_folders() -> Mapping[str, Path]:
    """The folders with tables of names, by format."""
    return {format_.name: format_.names for format_ in formats() if format_.names is not None}


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
