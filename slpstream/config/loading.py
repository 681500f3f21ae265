"""Loading of a TOML file into a `Config`, with the checks that types alone do not cover.

Errors name the file, the key and what was expected.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from slpstream.config.bracket import check_bracket
from slpstream.config.folders import address, is_loopback, recordings_folder, station_folder
from slpstream.config.obs_rules import check_obs
from slpstream.config.sections import (
    CHAT_PLACEHOLDERS,
    CONSOLE_PORT,
    EACH_SUBFOLDER,
    REPLAY_PLACEHOLDERS,
    SCOREBOARD_VALUES,
    ZIP_PLACEHOLDERS,
    Chat,
    Config,
    Relay,
    Scoreboard,
    Seats,
    Server,
    StationConfig,
    Web,
    all_keys,
)
from slpstream.config.urls import check_broker_url, check_url, resolvable
from slpstream.model.errors import ConfigError
from slpstream.model.messages import ON_AIR
from slpstream.model.template import Template
from slpstream.system.files import real_path

_STATION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_BACKSLASH_HINT = "; in double quotes write each backslash twice, or put the path in single quotes: 'C:\\Users\\me'"
_SOURCES = ("folder", "console", "dolphin")
_HTTP = ("http", "https")
_RELAY_PORTS = {"relay_port": "tcp", "raw_relay_port": "tcp", "relay_enet_port": "udp"}


def load(path: Path) -> Config:
    """Load a configuration file. Raises `ConfigError`."""
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
    return check(table, file=str(path))


def check(table: Mapping[str, Any], *, file: str = "configuration") -> Config:
    """Check a parsed table and convert it to a `Config`. Raises `ConfigError`, which names `file`."""
    try:
        config = msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        raise _config_error(error, file) from None
    _check_numbers(config, file)
    _check_server(config.server, file)
    _check_hosts(config, file)
    if _is_file(config.store.folder, file, "store.folder"):
        raise ConfigError(file, "store.folder", "is a file", found=config.store.folder)
    _check_web(config.web, file)
    _check_stations(config.stations, config.relay, file)
    _check_sinks(config, file)
    _check_chats(config.chat, file)
    _check_scoreboards(config, file)
    check_obs(config, file)
    check_bracket(config, file)
    _check_seats(config.seats, file)
    _check_handover(config, file)
    _check_announce(config, file)
    _check_situations(config, file)
    if config.on_air.operator_seconds and config.on_air.choose != "rule":
        raise ConfigError(file, "on_air.operator_seconds", 'applies only with on_air.choose = "rule"')
    if config.watch.idle_seconds < config.watch.stalled_seconds:
        raise ConfigError(file, "watch.idle_seconds", "expected at least watch.stalled_seconds")
    return config


def _check_situations(config: Config, file: str) -> None:
    """Names and stations. The daemon checks the queries."""
    names = [wanted.name for wanted in config.situations]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ConfigError(file, f"situations[{i}].name", f"is there twice: {name!r}")
        if not _can_be_shown(name):
            raise ConfigError(file, f"situations[{i}].name", "expected printable characters")


_JOINERS = "\u200c\u200d"
"""Zero-width non-joiner and joiner."""
_LIST_INDEX = re.compile(r"\[\d+\]")
_FIELD_ERROR = re.compile(r"Object (contains unknown|missing required) field `(?P<name>.*?)`")


def _config_error(error: msgspec.ValidationError, file: str) -> ConfigError:
    """Translate msgspec's error into the terms of a configuration file."""
    message, _, path = str(error).rpartition(" - at `$")
    key = path.rstrip("`").lstrip(".")
    if not message:
        message, key = str(error), ""
    field_error = _FIELD_ERROR.match(message)
    if field_error:
        key = f"{key}.{field_error['name']}".lstrip(".")
        return ConfigError(file, key, "unknown key" if "unknown" in field_error[1] else "must be given")
    if message.startswith("Invalid enum value"):
        section, _, name = _LIST_INDEX.sub("", key).partition(".")
        types = {(row.section, row.name): row.type for row in all_keys()}
        expected = types[section, name].removeprefix("list of ")
        message = f"expected {expected}, got{message.removeprefix('Invalid enum value')}"
    return ConfigError(file, key, message[:1].lower() + message[1:])


def _check_numbers(value: Any, file: str, key: str = "") -> None:
    """Refuse `inf` and `nan`, which TOML allows and msgspec's bounds do not always catch."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(file, key, f"expected a number, found {value}")
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _check_numbers(getattr(value, name), file, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _check_numbers(item, file, f"{key}[{i}]")


def _check_server(server: Server, file: str) -> None:
    _check_readable(server.token_file, file, "server.token_file")
    _check_readable(server.operate_token_file, file, "server.operate_token_file")
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


def _check_readable(path: str, file: str, key: str) -> None:
    """Refuse a file that is missing or unreadable."""
    if path and ("\0" in path or not os.access(_expanded(path, file, key), os.R_OK)):
        raise ConfigError(file, key, "cannot be read", found=path)


def _is_file(path: str, file: str, key: str) -> bool:
    """Whether the path of a folder is that of a file. `False` if this is unknown, as on an unmounted share."""
    try:
        return _expanded(path, file, key).is_file()
    except OSError:
        return False


def _expanded(path: str, file: str, key: str) -> Path:
    if "\0" in path:
        raise ConfigError(file, key, "expected a path without a null character", found=repr(path))
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigError(file, key, "no such home folder", found=path) from error


def _check_web(web: Web, file: str) -> None:
    if not web.overlay_folder:
        return
    try:
        is_folder = _expanded(web.overlay_folder, file, "web.overlay_folder").is_dir()
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
        if _is_file(station.folder, file, f"{key}.folder"):
            raise ConfigError(file, f"{key}.folder", "is a file", found=station.folder)
        for name in ("console", "dolphin"):
            if getattr(station, name):
                _check_address(getattr(station, name), file, f"{key}.{name}")
        for name, protocol in _RELAY_PORTS.items():
            port, others = getattr(station, name), taken[protocol]
            if port in others:
                raise ConfigError(file, f"{key}.{name}", f"{port} is taken by {others[port]}")
            if port:
                others[port] = f"{key}.{name}"


def _check_station_id(station: StationConfig, file: str, key: str) -> None:
    if station.id == EACH_SUBFOLDER:
        if not station.folder:
            raise ConfigError(file, f"{key}.folder", "expected the folder whose subfolders are the stations")
        for name in ("name", *_RELAY_PORTS):
            if getattr(station, name):
                raise ConfigError(file, f"{key}.{name}", "applies to a single station, not to `*`")
    elif station.id == ON_AIR:
        raise ConfigError(file, f"{key}.id", f"{ON_AIR!r} stands for the station on air; use another name")
    elif not _STATION_ID.fullmatch(station.id):
        raise ConfigError(file, f"{key}.id", f"expected letters, digits, `.`, `_`, `-`, or `*`; found {station.id!r}")


def _check_address(text: str, file: str, key: str) -> None:
    try:
        address(text, 1)
    except ValueError as error:
        raise ConfigError(file, key, f"expected host or host:port, found {text!r}") from error


def _check_sinks(config: Config, file: str) -> None:
    for i, webhook in enumerate(config.webhooks):
        key = f"webhooks[{i}]"
        check_url(webhook.url, _HTTP, file, f"{key}.url")
        if not webhook.secret_file:
            raise ConfigError(file, f"{key}.secret_file", "expected a file")
        _check_readable(webhook.secret_file, file, f"{key}.secret_file")
    folders = [(f"jsonl[{i}].folder", sink.folder) for i, sink in enumerate(config.jsonl)]
    for key, folder in [*folders, ("obs.folder", config.obs.folder), ("recordings.folder", config.recordings.folder)]:
        if _is_file(folder, file, key):
            raise ConfigError(file, key, "is a file", found=folder)
    _check_playback(config, file)
    fanout = config.fanout
    if fanout.url:
        check_broker_url(fanout.url, file)
    _check_readable(config.obs.password_file, file, "obs.password_file")
    for name in ("password_file", "ca_file"):
        _check_readable(getattr(fanout, name), file, f"fanout.{name}")
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", fanout.event):
        raise ConfigError(file, "fanout.event", f"expected letters, digits, `.`, `_`, `-`; found {fanout.event!r}")


def _check_chats(chats: Sequence[Chat], file: str) -> None:
    for i, chat in enumerate(chats):
        key = f"chat[{i}]"
        if not chat.url_file:
            raise ConfigError(file, f"{key}.url_file", "expected a file")
        _check_readable(chat.url_file, file, f"{key}.url_file")
        for name, placeholders in CHAT_PLACEHOLDERS.items():
            try:
                Template(getattr(chat, name), placeholders)
            except ValueError as error:
                raise ConfigError(file, f"{key}.{name}", str(error)) from error
        if chat.link and not re.match(r"https?://[^/\s]", chat.link):
            raise ConfigError(file, f"{key}.link", f"expected http:// or https://, found {chat.link!r}")
        if chat.avatar_url:
            check_url(chat.avatar_url, _HTTP, file, f"{key}.avatar_url")
        if re.search("discord|clyde|```", chat.username, re.IGNORECASE):
            raise ConfigError(file, f"{key}.username", f"Discord does not allow the name {chat.username!r}")


def _check_scoreboards(config: Config, file: str) -> None:
    paths: dict[Path, str] = {}
    for i, board in enumerate(config.scoreboards):
        key = f"scoreboards[{i}]"
        _check_followed(board.station, config, file, f"{key}.station")
        _check_keys_of_kind(board, file, key)
        if board.kind == "tournament-stream-helper":
            if board.url:
                _check_helper_url(board.url, file, f"{key}.url")
            continue
        if not board.path:
            raise ConfigError(file, f"{key}.path", "must be given")
        path = _expanded(board.path, file, f"{key}.path")
        if board.kind != "streamcontrol" and _is_file(board.path, file, f"{key}.path"):
            raise ConfigError(file, f"{key}.path", "is a file", found=board.path)
        if path in paths:
            raise ConfigError(file, f"{key}.path", f"is that of {paths[path]} too", found=board.path)
        paths[path] = key
        for name, value in board.mapping.items():
            if value not in SCOREBOARD_VALUES:
                known = ", ".join(SCOREBOARD_VALUES)
                raise ConfigError(file, f"{key}.mapping.{name}", f"expected one of {known}; found {value!r}")
            if board.kind == "text" and not re.fullmatch(r"[^\0-\x1f/\\:*?\"<>|.][^\0-\x1f/\\:*?\"<>|]{0,99}", name):
                raise ConfigError(file, f"{key}.mapping", f"expected names of files, found {name!r}")


def _check_helper_url(url: str, file: str, key: str) -> None:
    expected = "expected http://host:port"
    parts = check_url(url, ("http",), file, key, expected=expected)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ConfigError(file, key, expected)


def _check_keys_of_kind(board: Scoreboard, file: str, key: str) -> None:
    """Refuse keys that mean nothing for a kind of scoreboard."""
    of_kinds = {
        "url": {"tournament-stream-helper"},
        "number": {"tournament-stream-helper"},
        "path": {"melee-stream-tool", "streamcontrol", "text"},
        "mapping": {"streamcontrol", "text"},
    }
    defaults = {field.name: field.default for field in msgspec.structs.fields(Scoreboard)}
    for name, kinds in of_kinds.items():
        if getattr(board, name) and getattr(board, name) != defaults[name] and board.kind not in kinds:
            raise ConfigError(file, f"{key}.{name}", f"does not apply to {board.kind}")


def _check_followed(station: str, config: Config, file: str, key: str) -> None:
    """Refuse a station that can never exist."""
    ids = {each.id for each in config.stations}
    open_ended = not ids or EACH_SUBFOLDER in ids or config.relay.discovery
    if not open_ended and station not in {*ids, ON_AIR}:
        raise ConfigError(file, key, f"expected a station or {ON_AIR}, found {station!r}")
    if station != ON_AIR and not _STATION_ID.fullmatch(station):
        raise ConfigError(file, key, f"expected the id of a station or {ON_AIR}, found {station!r}")


def _can_be_shown(name: str) -> bool:
    """Whether a name has printable characters only. Emoji and some scripts join them by characters without a width."""
    return "".join(character for character in name if character not in _JOINERS).isprintable()


def _check_announce(config: Config, file: str) -> None:
    announce, relay = config.announce, config.relay
    if not _can_be_shown(announce.name):
        raise ConfigError(file, "announce.name", f"expected printable characters, found {announce.name!r}")
    if not announce.relayed_station:
        return
    if not any(station.relay_port == CONSOLE_PORT for station in config.stations):
        what = f"needs a station with relay_port = {CONSOLE_PORT}: launchers connect to no other port"
        raise ConfigError(file, "announce.relayed_station", what)
    if is_loopback(relay.host) and not is_loopback(announce.broadcast_host):
        what = f"needs an address in relay.host that other machines can reach, found {relay.host!r}"
        raise ConfigError(file, "announce.relayed_station", what)


def _check_handover(config: Config, file: str) -> None:
    handover = config.handover
    if handover.folder:
        if _is_file(handover.folder, file, "handover.folder"):
            raise ConfigError(file, "handover.folder", "is a file", found=handover.folder)
        _check_unwatched(config, file)
    for key, placeholders in (("replay_name", REPLAY_PLACEHOLDERS), ("zip_name", ZIP_PLACEHOLDERS)):
        unknown = set(re.findall(r"\{(\w*)\}", getattr(handover, key))) - set(placeholders)
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in placeholders)
            raise ConfigError(file, f"handover.{key}", f"expected some of {known}; found {{{min(unknown)}}}")


def _check_unwatched(config: Config, file: str) -> None:
    """Refuse a folder for zips in which a station would find them, and take their replays for other games."""
    folder = real_path(_expanded(config.handover.folder, file, "handover.folder"))
    recordings = recordings_folder(config)
    for i, station in enumerate(config.stations):
        _expanded(station.folder, file, f"stations[{i}].folder")
        if folder.is_relative_to(real_path(station_folder(station, recordings))):
            what = f"is in the folder of the station {station.id}, which would read the zips"
            raise ConfigError(file, "handover.folder", what, found=config.handover.folder)


def _check_playback(config: Config, file: str) -> None:
    playback = config.playback
    if not playback.file:
        return
    try:
        is_folder = _expanded(playback.file, file, "playback.file").is_dir()
    except OSError:
        is_folder = False  # as on an unmounted share, which may come back
    if is_folder:
        raise ConfigError(file, "playback.file", "is a folder", found=playback.file)
    if not playback.station:
        raise ConfigError(file, "playback.station", f"expected the id of a station, or {ON_AIR!r}")
    _check_followed(playback.station, config, file, "playback.station")


def _check_seats(seats: Seats, file: str) -> None:
    if not seats.address:
        return
    expected = "expected http:// or https:// with a host, and at most a port and a path"
    parts = check_url(seats.address, _HTTP, file, "seats.address", expected=expected)
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(file, "seats.address", expected)
