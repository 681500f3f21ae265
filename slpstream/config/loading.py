"""Load a TOML file into a `Config`. This includes the checks that can't be expressed by types.

All errors tell you the file, the key and the value that was expected.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from types import GenericAlias
from typing import Any

import msgspec

from slpstream.config.checks import (
    STATION_ID,
    check_folder,
    check_readable,
    expanded,
)
from slpstream.config.folders import address
from slpstream.config.sections import (
    EACH_SUBFOLDER,
    NETWORK_SOURCES,
    RELAY_PORTS,
    Config,
    CoreSections,
    Relay,
    Section,
    Server,
    StationConfig,
    Web,
    all_keys,
)
from slpstream.model.errors import ConfigError
from slpstream.model.messages import ON_AIR
from slpstream.system.host_name import resolvable

_BACKSLASH_HINT = "; in double quotes write each backslash twice, or put the path in single quotes: 'C:\\Users\\me'"
_SOURCES = ("folder", *NETWORK_SOURCES)


def load(path: Path, sections: Sequence[Section] = ()) -> Config:
    """Load a configuration file.

    You have to pass the `sections` of parts. Raises `ConfigError` if there's a problem.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # editors on Windows write a byte order mark
    except OSError as error:
        raise ConfigError(str(path), "", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), "", f"is not UTF-8, at byte {error.start}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = _BACKSLASH_HINT if re.search("Invalid hex value|Unescaped", str(error)) else ""
        raise ConfigError(str(path), "", f"is not TOML: {error}{hint}") from error
    except RecursionError:
        raise ConfigError(str(path), "", "has lists or tables that are nested too deeply") from None
    return check(table, sections, file=str(path))


def check(table: Mapping[str, Any], sections: Sequence[Section] = (), *, file: str = "configuration") -> Config:
    """Convert a table that was already parsed to a `Config`, and check it.

    Raises a `ConfigError` that mentions `file`.
    """
    config = convert(table, sections, file=file)
    _check_core(config, file)
    for reference in dict.fromkeys(section.check for section in sections if section.check and section.name in table):
        resolve_name(reference)(config, file)
    return config


def convert(table: Mapping[str, Any], sections: Sequence[Section] = (), *, file: str = "configuration") -> Config:
    """Like `check`, but only check types and bounds. Raises `ConfigError` if there's a problem."""
    of_parts = {section.name for section in sections}
    try:
        core = msgspec.convert({name: value for name, value in table.items() if name not in of_parts}, CoreSections)
    except msgspec.ValidationError as error:
        raise _config_error(error, file, "", sections) from None
    parts = {name: _convert(name, value, sections, file) for name, value in table.items() if name in of_parts}
    given = {name: found for name, found in parts.items() if found}
    return Config(**{name: getattr(core, name) for name in core.__struct_fields__}, parts=given)


def _convert(name: str, value: Any, sections: Sequence[Section], file: str) -> list[msgspec.Struct]:
    """Convert all sections that have the same name in the table. You get one struct for each.

    If a section can only occur once and just contains defaults, it is left out.
    """
    declared = [section for section in sections if section.name == name]
    found: list[msgspec.Struct] = []
    try:
        if declared[0].many:
            found = msgspec.convert(value, GenericAlias(list, declared[0].struct))
        else:
            table = msgspec.convert(value, dict[str, Any])
            structs = [section.struct for section in declared]
            known = {key for struct in structs for key in struct.__struct_fields__}
            for unknown in (key for key in table if key not in known):
                raise ConfigError(file, f"{name}.{unknown}", "unknown key")
            for struct in structs:
                own = {key: each for key, each in table.items() if key in struct.__struct_fields__}
                section = msgspec.convert(own, struct)
                found += [section] if section != struct() else []
    except msgspec.ValidationError as error:
        raise _config_error(error, file, name, sections) from None
    for i, each in enumerate(found):
        _check_numbers(each, file, f"{name}[{i}]" if declared[0].many else name)
    return found


def _check_core(config: Config, file: str) -> None:
    for name in CoreSections.__struct_fields__:
        _check_numbers(getattr(config, name), file, name)
    _check_server(config.server, file)
    _check_hosts(config, file)
    check_folder(config.store.folder, file, "store.folder")
    check_folder(config.recordings.folder, file, "recordings.folder")
    _check_web(config.web, file)
    _check_stations(config.stations, config.relay, file)
    if config.watch.idle_seconds < config.watch.stalled_seconds:
        raise ConfigError(file, "watch.idle_seconds", "expected at least watch.stalled_seconds")


_LIST_INDEX = re.compile(r"\[\d+\]")
_FIELD_ERROR = re.compile(r"Object (contains unknown|missing required) field `(?P<name>.*?)`")


def _config_error(error: msgspec.ValidationError, file: str, section: str, sections: Sequence[Section]) -> ConfigError:
    """Translate an error of msgspec, so that it makes sense to a person who looks at the configuration file."""
    message, _, path = str(error).rpartition(" - at `$")
    key = path.rstrip("`").lstrip(".")
    if not message:
        message, key = str(error), ""
    key = f"{section}{key}" if key.startswith("[") else f"{section}.{key}".strip(".")
    field_error = _FIELD_ERROR.match(message)
    if field_error:
        key = f"{key}.{field_error['name']}".lstrip(".")
        return ConfigError(file, key, "unknown key" if "unknown" in field_error[1] else "must be given")
    if message.startswith("Invalid enum value"):
        of, _, name = _LIST_INDEX.sub("", key).partition(".")
        types = {(row.section, row.name): row.type for row in all_keys(sections)}
        expected = types[of, name].removeprefix("list of ")
        message = f"expected {expected}, got{message.removeprefix('Invalid enum value')}"
    return ConfigError(file, key, message[:1].lower() + message[1:])


def _check_numbers(value: Any, file: str, key: str = "") -> None:
    """Refuse `inf` and `nan`. TOML allows them, and the bounds of msgspec don't always catch them."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(file, key, f"expected a number, found {value}")
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _check_numbers(getattr(value, name), file, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _check_numbers(item, file, f"{key}[{i}]")


def _check_server(server: Server, file: str) -> None:
    check_readable(server.token_file, file, "server.token_file")
    check_readable(server.operate_token_file, file, "server.operate_token_file")
    if server.require_token and not server.token_file and not os.environ.get("CREDENTIALS_DIRECTORY"):
        raise ConfigError(file, "server.require_token", "requires server.token_file")
    for origin in server.allowed_origins:
        if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin):
            raise ConfigError(file, "server.allowed_origins", f"expected scheme://host, found {origin!r}")


def _check_hosts(config: Config, file: str) -> None:
    for key, host in (
        ("server.host", config.server.host),
        ("relay.host", config.relay.host),
        ("relay.discovery_host", config.relay.discovery_host),
    ):
        try:
            resolvable(host)
        except ValueError as error:
            raise ConfigError(file, key, f"expected a host, found {host!r}") from error


def _check_web(web: Web, file: str) -> None:
    if not web.overlay_folder:
        return
    try:
        is_folder = expanded(web.overlay_folder, file, "web.overlay_folder").is_dir()
    except OSError as error:
        raise ConfigError(file, "web.overlay_folder", "cannot be used", found=error) from error
    if not is_folder:
        raise ConfigError(file, "web.overlay_folder", "is not a folder", found=web.overlay_folder)


def _check_stations(stations: Sequence[StationConfig], relay: Relay, file: str) -> None:
    seen: set[str] = set()
    taken: dict[str, dict[int, str]] = {"tcp": {}, "udp": {}}
    if relay.discovery:
        taken["udp"][relay.discovery_port] = "relay.discovery_port"
    for i, station in enumerate(stations):
        key = f"stations[{i}]"
        _check_station_id(station, file, key)
        if station.id in seen and station.id != EACH_SUBFOLDER:
            raise ConfigError(file, f"{key}.id", f"{station.id!r} is used twice")
        seen.add(station.id)
        sources = [name for name in _SOURCES if getattr(station, name)]
        if len(sources) != 1:
            found = " and ".join(sources) or "none"
            raise ConfigError(file, f"{key}.folder", f"expected one source, folder, console or dolphin; found {found}")
        check_folder(station.folder, file, f"{key}.folder")
        for name in NETWORK_SOURCES:
            if getattr(station, name):
                _check_address(getattr(station, name), file, f"{key}.{name}")
        for name, protocol in RELAY_PORTS.items():
            port, others = getattr(station, name), taken[protocol]
            if port in others:
                raise ConfigError(file, f"{key}.{name}", f"{port} is taken by {others[port]}")
            if port:
                others[port] = f"{key}.{name}"


def _check_station_id(station: StationConfig, file: str, key: str) -> None:
    if station.id == EACH_SUBFOLDER:
        if not station.folder:
            raise ConfigError(file, f"{key}.folder", "expected the folder whose subfolders are the stations")
        for name in ("name", *RELAY_PORTS):
            if getattr(station, name):
                raise ConfigError(file, f"{key}.{name}", "applies to a single station, not to `*`")
    elif station.id == ON_AIR:
        raise ConfigError(file, f"{key}.id", f"{ON_AIR!r} stands for the station on air; use another name")
    elif not STATION_ID.fullmatch(station.id):
        raise ConfigError(file, f"{key}.id", f"expected letters, digits, `.`, `_`, `-`, or `*`; found {station.id!r}")


def _check_address(text: str, file: str, key: str) -> None:
    try:
        address(text, 1)
    except ValueError as error:
        raise ConfigError(file, key, f"expected host or host:port, found {text!r}") from error
