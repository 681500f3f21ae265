"""Load a TOML file into a `Config`. This includes the checks that can't be expressed by types.

All errors tell you the file, the key and the value that was expected.
"""

from __future__ import annotations

import difflib
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

from slpstream.config.checks import STATION_ID, check_folder, check_host, check_readable, expanded
from slpstream.config.sections import (
    EACH_SUBFOLDER,
    Config,
    CoreSections,
    Section,
    Server,
    StationConfig,
    Web,
    all_keys,
)
from slpstream.model.errors import ConfigError
from slpstream.model.messages import ON_AIR

_BACKSLASH_HINT = "; in double quotes write each backslash twice, or put the path in single quotes: 'C:\\Users\\me'"


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
    _check_core(config, sections, file)
    for reference in dict.fromkeys(section.check for section in sections if section.check and section.name in table):
        resolve_name(reference)(config, file)
    return config


def convert(table: Mapping[str, Any], sections: Sequence[Section] = (), *, file: str = "configuration") -> Config:
    """Like `check`, but only check types and bounds. Raises `ConfigError` if there's a problem."""
    own: dict[str, Any] = {}
    parts: dict[str, list[msgspec.Struct]] = {}
    stations: list[tuple[msgspec.Struct, ...]] = []
    for name, value in table.items():
        declared = [section for section in sections if section.name == name]
        if name == "stations" and isinstance(value, list):
            tables = [_divided(each, declared) if isinstance(each, dict) else (each, {}) for each in value]
            own[name] = [core for core, _ in tables]
            stations = [tuple(_convert(f"{name}[{i}]", each, declared, file)) for i, (_, each) in enumerate(tables)]
        elif name in CoreSections.__struct_fields__:
            own[name], theirs = _divided(value, declared) if isinstance(value, dict) else (value, {})
            parts[name] = _convert(name, theirs, declared, file)
        elif declared and declared[0].many:
            parts[name] = _convert_each(name, value, declared, file)
        elif declared:
            parts[name] = _convert(name, value, declared, file)
        else:
            own[name] = value
    try:
        core = msgspec.convert(own, CoreSections)
    except msgspec.ValidationError as error:
        raise _config_error(error, file, "", sections) from None
    values = {name: getattr(core, name) for name in core.__struct_fields__}
    values["stations"] = [
        StationConfig(**msgspec.structs.asdict(station), parts=keys)
        for station, keys in zip(core.stations, stations, strict=True)
    ]
    return Config(**values, parts={name: found for name, found in parts.items() if found})


def _divided(table: Mapping[str, Any], declared: Sequence[Section]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide a table into the keys that are not declared by these sections, and those that are."""
    known = {key for section in declared for key in section.struct.__struct_fields__}
    theirs = {key: value for key, value in table.items() if key in known}
    return {key: value for key, value in table.items() if key not in known}, theirs


def _convert_each(name: str, value: Any, declared: Sequence[Section], file: str) -> list[msgspec.Struct]:
    """Convert a section that can occur several times. You get one struct for each."""
    try:
        found: list[msgspec.Struct] = msgspec.convert(value, GenericAlias(list, declared[0].struct))
    except msgspec.ValidationError as error:
        raise _config_error(error, file, name, declared) from None
    for i, each in enumerate(found):
        _check_numbers(each, file, f"{name}[{i}]")
    return found


def _convert(name: str, value: Any, declared: Sequence[Section], file: str) -> list[msgspec.Struct]:
    """Convert one table whose keys are divided among several structs. Those that just contain defaults are left out."""
    found: list[msgspec.Struct] = []
    try:
        for key in _divided(msgspec.convert(value, dict[str, Any]), declared)[0]:
            raise _unknown_key(file, f"{name}.{key}", declared)
        for section in declared:
            struct = section.struct
            keys = msgspec.convert(_divided(value, [section])[1], struct)
            found += [keys] if keys != struct() else []
    except msgspec.ValidationError as error:
        raise _config_error(error, file, name, declared) from None
    for each in found:
        _check_numbers(each, file, name)
    return found


def _check_core(config: Config, sections: Sequence[Section], file: str) -> None:
    for name in CoreSections.__struct_fields__:
        _check_numbers(getattr(config, name), file, name)
    _check_server(config.server, file)
    check_host(config.server.host, file, "server.host")
    check_folder(config.store.folder, file, "store.folder")
    check_folder(config.recordings.folder, file, "recordings.folder")
    _check_web(config.web, file)
    sources = ["folder", *(source for section in sections for source in section.sources)]
    _check_stations(config.stations, sources, file)
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
    if field := _FIELD_ERROR.match(message):
        key = f"{key}.{field['name']}".lstrip(".")
        return _unknown_key(file, key, sections) if "unknown" in field[1] else ConfigError(file, key, "must be given")
    if message.startswith("Invalid enum value"):
        types = {f"{row.section}.{row.name}": row.type for row in all_keys(sections)}
        expected = types[_LIST_INDEX.sub("", key)].removeprefix("list of ")
        message = f"expected {expected}, got{message.removeprefix('Invalid enum value')}"
    return ConfigError(file, key, message[:1].lower() + message[1:])


def _unknown_key(file: str, key: str, sections: Sequence[Section]) -> ConfigError:
    """Return an error that names the key, or the section, that is spelled most similarly."""
    section, _, name = _LIST_INDEX.sub("", key).rpartition(".")
    known = {row.name if section else row.section for row in all_keys(sections) if section in ("", row.section)}
    similar = difflib.get_close_matches(name, known, n=1)
    return ConfigError(file, key, "unknown key" + "".join(f"; did you mean {each}?" for each in similar))


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


def _check_web(web: Web, file: str) -> None:
    if not web.overlay_folder:
        return
    try:
        is_folder = expanded(web.overlay_folder, file, "web.overlay_folder").is_dir()
    except OSError as error:
        raise ConfigError(file, "web.overlay_folder", "cannot be used", found=error) from error
    if not is_folder:
        raise ConfigError(file, "web.overlay_folder", "is not a folder", found=web.overlay_folder)


def _check_stations(stations: Sequence[StationConfig], sources: Sequence[str], file: str) -> None:
    seen: set[str] = set()
    for i, station in enumerate(stations):
        key = f"stations[{i}]"
        given = _given_keys(station)
        _check_station_id(station, given, file, key)
        if station.id in seen and station.id != EACH_SUBFOLDER:
            raise ConfigError(file, f"{key}.id", f"{station.id!r} is used twice")
        seen.add(station.id)
        chosen = [name for name in sources if name in given]
        if len(chosen) != 1:
            found = " and ".join(chosen) or "none"
            expected = " or ".join(filter(None, (", ".join(sources[:-1]), sources[-1])))
            raise ConfigError(file, f"{key}.folder", f"expected one source, {expected}; found {found}")
        check_folder(station.folder, file, f"{key}.folder")


def _given_keys(station: StationConfig) -> list[str]:
    """Return the names of the keys that do not just have their default."""
    return [
        field.name
        for keys in (station, *station.parts)
        for field in msgspec.structs.fields(keys)
        if field.name != "parts" and getattr(keys, field.name) != field.default
    ]


def _check_station_id(station: StationConfig, given: Sequence[str], file: str, key: str) -> None:
    if station.id == EACH_SUBFOLDER:
        if not station.folder:
            raise ConfigError(file, f"{key}.folder", "expected the folder whose subfolders are the stations")
        for name in (each for each in given if each not in ("id", "folder")):
            raise ConfigError(file, f"{key}.{name}", "applies to a single station, not to `*`")
    elif station.id == ON_AIR:
        raise ConfigError(file, f"{key}.id", f"{ON_AIR!r} stands for the station on air; use another name")
    elif not STATION_ID.fullmatch(station.id):
        raise ConfigError(file, f"{key}.id", f"expected letters, digits, `.`, `_`, `-`, or `*`; found {station.id!r}")
