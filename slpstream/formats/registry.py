"""The registry of formats. Use it to find the format of a file, by its name and first bytes, or a format by its name.

If a folder of this package contains a `format.py`, it is a built-in format. The registry imports it when formats are
needed for the first time, and uses the `FORMAT` that it finds there. Other packages can add formats through the
entry-point group `slpstream.formats` (see `docs/howto/add_a_format.md`). Outside of `formats` and `stats`, no module
knows any format by name.
"""

from __future__ import annotations

import contextlib
import functools
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
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
    """Return all formats. The built-in ones come first (the fallback, then the others by name), followed by those of
    installed packages, by name.

    Raises `ConfigError` if a package can't be loaded, if it registers something that isn't a `Format`, or if its name
    is already taken.
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
    """Find the formats of this package, in any order. To keep this fast, we only import the packages of formats."""
    for module in pkgutil.iter_modules(package.__path__):
        folders = [str(Path(folder, module.name)) for folder in package.__path__]
        if module.ispkg and any(inner.name == "format" for inner in pkgutil.iter_modules(folders)):
            format_: Format = import_module(f"{package.__name__}.{module.name}.format").FORMAT
            yield format_


@functools.cache
def name_folders() -> Mapping[str, Path]:
    """Return the folders that contain tables of names, by format."""
    return {format_.name: format_.names for format_ in formats() if format_.names is not None}


@functools.cache
def suffixes() -> tuple[str, ...]:
    """Return all file name endings that we look for in watched folders."""
    return tuple(dict.fromkeys(suffix for format_ in formats() for suffix in format_.suffixes))


def choose(name: str, head: bytes = b"", size_bytes: int | None = None) -> Format | None:
    """Choose the format of a file by its name and, if you pass them, its first bytes (`SNIFFED_BYTES` are enough).

    We first ask the formats that the file name's ending belongs to, and then all others that recognise files by their
    bytes. Returns `None` if no format has this ending, or if something completely different is stored under it.
    """
    stem, dot, ending = name.lower().rpartition(".")  # `PurePath` takes longer than the rest of the function
    suffix = dot + ending if stem else ""
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
    """Return the format of a file that is supposed to be a replay. Takes the same arguments as `choose`.

    In contrast to `choose`, you always get a format. If none fits, then it is the one that the file name's ending
    belongs to. If there isn't one either, you get the fallback, whose reader will report the error.
    """
    return choose(name, head, size_bytes) or choose(name) or formats()[0]


def is_finished(name: str, head: bytes) -> bool:
    """Whether we can tell from a file's name and its first `rewritable_bytes` that the game has finished writing it.

    If a game writes its files in one go, they always count as finished.
    """
    format_ = choose(name)
    if format_ is None:
        return False
    return format_.written_whole or (format_.is_finished is not None and format_.is_finished(head))


def format_called(name: str) -> Format | None:
    """Return the format with the given name, or `None` if it isn't installed."""
    return next((format_ for format_ in formats() if format_.name == name), None)


def describe(start: GameStart, end: GameEnd | None = None, metadata: Mapping[str, Any] | None = None) -> GameSummary:
    """Return the neutral summary of a game. It contains everything that is known from the part that was read so far.

    You get an empty summary if the format isn't installed, has no `describe`, or doesn't understand the settings.
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
    """Return the setup that a game reveals. The settings must be plain JSON values.

    If the format isn't installed, doesn't describe setups, or doesn't understand the settings, you get a setup that is
    marked as incomparable, together with the reason.
    """
    format_ = format_called(format_name)
    if format_ is None or format_.setup is None:
        return RevealedSetup(incomparable=f"{format_name} replays do not show their setup")
    try:
        return format_.setup(settings, codes, metadata)
    except msgspec.ValidationError:
        return RevealedSetup(incomparable="the settings are of another version")


def new_stats(start: GameStart) -> StatsComputer | None:
    """Create a stats computer for a game that begins. Returns `None` if the format doesn't have stats."""
    format_ = format_called(start.format)
    make = None if format_ is None else format_.make_stats()
    return None if make is None else make(start.settings)


def load_stats() -> None:
    """Import the stats of all formats, so that the first game doesn't have to. This blocks, and takes longer than a
    frame.

    If an import fails, this ignores the error. You get it from `new_stats` when the first game begins.
    """
    for format_ in formats():
        with contextlib.suppress(ImportError, AttributeError):
            format_.make_stats()
