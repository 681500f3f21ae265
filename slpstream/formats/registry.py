"""The registry of formats: picks the format of a file by its name and first bytes, and of a game by the format's name.

A folder of this package with a `format.py` is a built-in format. The registry imports it when formats are first needed,
and uses its `FORMAT`. Installed packages add others through the entry-point group `slpstream.formats`
(`docs/howto/add_a_format.md`). No module above `formats` and `stats` knows a format by name.
"""

from __future__ import annotations

import contextlib
import functools
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path, PurePath
from typing import Any

import msgspec

from slpstream import formats as package
from slpstream.formats.interface import Format, StatsComputer
from slpstream.model.errors import ConfigError
from slpstream.model.events import GameEnd, GameStart
from slpstream.model.setup import CodeList, RevealedSetup
from slpstream.model.summary import GameSummary

ENTRY_POINTS = "slpstream.formats"


@functools.cache
def formats() -> tuple[Format, ...]:
    """All formats: the built-in ones (the fallback first, then by name), then those of installed packages by name.

    Raises `ConfigError` for a package that cannot be loaded, that registers something other than a `Format`, or whose
    name is already taken.
    """
    found = sorted(_built_in(), key=lambda format_: (not format_.is_fallback, format_.name))
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            format_ = entry.load()
        except (ImportError, AttributeError, TypeError) as error:  # TypeError: made for another version of `Format`
            raise ConfigError(f"entry point {entry.name}", entry.value, "cannot be loaded", found=error) from error
        if not isinstance(format_, Format):
            raise ConfigError(f"entry point {entry.name}", entry.value, "expected a slpstream.formats.Format")
        if any(format_.name == other.name for other in found):
            raise ConfigError(f"entry point {entry.name}", entry.value, f"the name {format_.name} is taken")
        found.append(format_)
    return tuple(found)


def _built_in() -> Iterator[Format]:
    """The formats of this package, in any order. Only the packages of formats are imported."""
    for module in pkgutil.iter_modules(package.__path__):
        folders = [str(Path(folder, module.name)) for folder in package.__path__]
        if module.ispkg and any(inner.name == "format" for inner in pkgutil.iter_modules(folders)):
            format_: Format = import_module(f"{package.__name__}.{module.name}.format").FORMAT
            yield format_


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
    """The format of a file that is meant to be a replay, as for `choose`.

    If no format fits, it is the format of the file name's ending, or else the fallback, whose reader reports the error.
    """
    return choose(name, head, size_bytes) or choose(name) or formats()[0]


def is_finished(name: str, head: bytes) -> bool:
    """Whether the name of a file and its first `rewritable_bytes` show that the game has finished writing it.

    Files that the game writes in one go count as finished.
    """
    format_ = choose(name)
    if format_ is None:
        return False
    return format_.written_whole or (format_.is_finished is not None and format_.is_finished(head))


def format_called(name: str) -> Format | None:
    """The format with this name; `None` when it is not installed."""
    return next((format_ for format_ in formats() if format_.name == name), None)


def describe(start: GameStart, end: GameEnd | None = None, metadata: Mapping[str, Any] | None = None) -> GameSummary:
    """The neutral summary of a game, as far as it has been read.

    The summary is empty when the format has no `describe`, is not installed, or does not understand the settings.
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


def describe_setup(
    format_name: str, settings: Any, codes: CodeList | None = None, metadata: Mapping[str, Any] | None = None
) -> RevealedSetup:
    """The setup that a game reveals, from its settings as plain JSON values, its codes and its metadata.

    The setup is incomparable, with the reason, when the format describes no setups, is not installed, or does not
    understand the settings.
    """
    format_ = format_called(format_name)
    if format_ is None or format_.setup is None:
        return RevealedSetup(incomparable=f"{format_name} replays do not show their setup")
    try:
        return format_.setup(settings, codes, metadata)
    except msgspec.ValidationError:
        return RevealedSetup(incomparable="the settings are of another version")


def new_stats(start: GameStart) -> StatsComputer | None:
    """A stats computer for a game that begins; `None` for a format without stats."""
    format_ = format_called(start.format)
    make = None if format_ is None else format_.make_stats()
    return None if make is None else make(start.settings)


def load_stats() -> None:
    """Import the stats of all formats before the first game begins, because that takes longer than a frame. Blocks.

    Import errors are ignored here. `new_stats` raises them when the first game begins.
    """
    for format_ in formats():
        with contextlib.suppress(ImportError, AttributeError):
            format_.make_stats()
