"""Checks for things that many sections refer to: files, folders, names and stations."""

from __future__ import annotations

import os
import re
from pathlib import Path

from slpstream.config.sections import Config
from slpstream.model.errors import ConfigError
from slpstream.model.messages import ON_AIR
from slpstream.system.host_name import resolvable

STATION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_JOINERS = "\u200c\u200d"
"""Zero-width non-joiner and joiner."""


def check_readable(path: str, file: str, key: str) -> None:
    """Raise `ConfigError` if a file is missing or can't be read. It's fine to pass an empty path."""
    if path and ("\0" in path or not os.access(expanded(path, file, key), os.R_OK)):
        raise ConfigError(file, key, "cannot be read", found=path)


def check_folder(path: str, file: str, key: str) -> None:
    """Raise `ConfigError` if the path of a folder belongs to a file.

    It is fine if there's no such folder yet.
    """
    try:
        is_file = expanded(path, file, key).is_file()
    except OSError:
        return  # unknown, as on an unmounted share
    if is_file:
        raise ConfigError(file, key, "is a file", found=path)


def check_host(host: str, file: str, key: str) -> None:
    """Raise `ConfigError` if a name or an address can't be that of a host."""
    try:
        resolvable(host)
    except ValueError as error:
        raise ConfigError(file, key, f"expected a host, found {host!r}") from error


def expanded(path: str, file: str, key: str) -> Path:
    """Expand `~` in the given path. Raises `ConfigError` if that isn't possible."""
    if "\0" in path:
        raise ConfigError(file, key, "expected a path without a null character", found=repr(path))
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(file, key, "no such home folder", found=path) from error


def check_followed(station: str, config: Config, file: str, key: str) -> None:
    """Raise `ConfigError` if there can never be such a station. You can also pass `on-air` for the station on air."""
    ids = {each.id for each in config.stations}
    if not config.is_open_ended and station not in {*ids, ON_AIR}:
        raise ConfigError(file, key, f"expected a station or {ON_AIR}, found {station!r}")
    if station != ON_AIR and not STATION_ID.fullmatch(station):
        raise ConfigError(file, key, f"expected the id of a station or {ON_AIR}, found {station!r}")


def is_printable(name: str) -> bool:
    """Whether a name only consists of printable characters.

    This allows characters without a width, because emoji and some scripts use them to join other characters.
    """
    return "".join(character for character in name if character not in _JOINERS).isprintable()
