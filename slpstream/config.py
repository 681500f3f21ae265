"""TOML to typed values: every key documented, defaulted and checked.

The structs below are the only list of keys: the loader, `check-config`, `slpstream reference config` and the test
that holds `config/slpstream.toml` to them all read it. Unknown keys are errors, because a misspelt key that does
nothing costs an evening. Only `daemon` and `cli` see a `Config`; a part of the daemon is handed the scalars that it
needs.
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from slpstream.errors import ConfigError

DEFAULT_PORT = 5151
_STATION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Port = Annotated[int, Meta(ge=0, le=65535)]
Positive = Annotated[float, Meta(gt=0)]


class Server(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[server]`: where the daemon listens, and who may come in."""

    host: Annotated[str, Meta(description="Address to listen on. Anything but loopback needs `token_file`.")] = (
        "127.0.0.1"
    )
    port: Annotated[Port, Meta(description="TCP port for HTTP and websocket; 0 takes a free one.")] = DEFAULT_PORT
    token_file: Annotated[
        str,
        Meta(description="File whose first line is the access token. Empty: none. Or systemd's credential `token`."),
    ] = ""
    require_token: Annotated[bool, Meta(description="Ask for the token on loopback too.")] = False
    allowed_origins: Annotated[
        list[str], Meta(description="Origins of web pages that may connect, beside the daemon's own and local files.")
    ] = []
    allowed_hosts: Annotated[
        list[str], Meta(description="Host names under which the daemon is reached, beside addresses and localhost.")
    ] = []
    max_connections: Annotated[
        int, Meta(ge=1, description="Connections at the same time; further ones are refused.")
    ] = 4096


class Watch(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[watch]`: how files are followed."""

    polling_only: Annotated[bool, Meta(description="No notifications, only polling: for network shares.")] = False
    poll_seconds: Annotated[
        Positive, Meta(description="How often growing files are looked at when nothing is notified.")
    ] = 0.1
    scan_seconds: Annotated[Positive, Meta(description="How often folders are searched for what was not notified.")] = (
        5.0
    )
    stalled_seconds: Annotated[
        Positive, Meta(description="Without growth for so long, a running game is `stalled`.")
    ] = 3.0
    idle_seconds: Annotated[
        Positive,
        Meta(
            description="Without growth for so long, a station is `idle`; older unfinished files are not in progress."
        ),
    ] = 60.0


class Stream(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[stream]`: the bounds of what is kept for subscribers."""

    ring_bytes: Annotated[
        int,
        Meta(
            ge=65536,
            le=1 << 40,
            description="Newest messages kept in memory, for each game and mode; older ones are read from the file.",
        ),
    ] = 1 << 20
    outbox_bytes: Annotated[int, Meta(ge=16384, le=1 << 30, description="What may wait for one slow subscriber.")] = (
        256 * 1024
    )
    socket_buffer_bytes: Annotated[
        int,
        Meta(ge=4096, le=1 << 30, description="Send buffer of a subscriber's socket: what the system may keep for it."),
    ] = 256 * 1024


class Log(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[log]`: what the daemon says."""

    format: Annotated[
        Literal["auto", "json", "console"],
        Meta(description="`auto`: coloured on a terminal, JSON under systemd and in pipes."),
    ] = "auto"
    level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="The least severe level that is shown.")
    ] = "info"


class Web(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[web]`: the pages."""

    overlay_folder: Annotated[
        str,
        Meta(
            description="Folder of your own stylesheets for overlays, with their images and fonts, served under "
            "`/custom/`. Empty: none."
        ),
    ] = ""


class StationConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[stations]]`: one setup, once for each."""

    id: Annotated[str, Meta(description="Short name in URLs and messages: letters, digits, `.`, `_`, `-`.")]
    folder: Annotated[str, Meta(description="Folder into which the game writes its replays; subfolders belong to it.")]
    name: Annotated[str, Meta(description="Name for people. Empty: the id.")] = ""


class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole configuration. Without `[[stations]]` the platform's usual Slippi folders are watched."""

    server: Server = Server()
    watch: Watch = Watch()
    stream: Stream = Stream()
    log: Log = Log()
    web: Web = Web()
    stations: list[StationConfig] = []


SECTIONS: Mapping[str, type[msgspec.Struct]] = {
    "server": Server,
    "watch": Watch,
    "stream": Stream,
    "log": Log,
    "web": Web,
    "stations": StationConfig,
}


class Key(NamedTuple):
    """One key for the reference: section, name, type for people, default (`None` when it must be given), what it
    does."""

    section: str
    name: str
    type: str
    default: Any
    description: str


def all_keys() -> Iterator[Key]:
    """Every key there is."""
    for section, struct in SECTIONS.items():
        hints = get_type_hints(struct, include_extras=True)
        for field in msgspec.structs.fields(struct):
            hint = hints[field.name]
            description = next(m.description for m in reversed(hint.__metadata__) if m.description)
            default = None if field.required else field.default
            if default is msgspec.NODEFAULT:
                default = field.default_factory()
            yield Key(section, field.name, _type_name(hint), default, description)


def load(path: Path) -> Config:
    """A configuration file. Raises `ConfigError` that names the file, the key and what was expected."""
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise ConfigError(str(path), "", f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), "", f"is not UTF-8, at byte {error.start}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), "", f"is not TOML: {error}") from error
    return check(table, file=str(path))


def check(table: Mapping[str, Any], *, file: str = "configuration") -> Config:
    """A parsed table to a `Config`, with the checks that types alone do not make."""
    try:
        config = msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        raise _explained(error, file) from None
    _check_server(config.server, file)
    _check_web(config.web, file)
    _check_stations(config.stations, file)
    if config.watch.idle_seconds < config.watch.stalled_seconds:
        raise ConfigError(file, "watch.idle_seconds", "expected at least watch.stalled_seconds")
    return config


_OF_A_KEY = re.compile(r"Object (contains unknown|missing required) field `(?P<name>.*?)`")


def _explained(error: msgspec.ValidationError, file: str) -> ConfigError:
    """What msgspec says, in the words of a configuration."""
    what, _, where = str(error).rpartition(" - at `$")
    key = where.rstrip("`").lstrip(".")
    if not what:
        what, key = str(error), ""
    of_a_key = _OF_A_KEY.match(what)
    if of_a_key:
        key = f"{key}.{of_a_key['name']}".lstrip(".")
        return ConfigError(file, key, "unknown key" if "unknown" in of_a_key[1] else "must be given")
    if what.startswith("Invalid enum value"):
        section, _, name = key.partition(".")
        expected = next(known.type for known in all_keys() if (known.section, known.name) == (section, name))
        what = f"expected {expected}, got{what.removeprefix('Invalid enum value')}"
    return ConfigError(file, key, what[:1].lower() + what[1:])


def _check_server(server: Server, file: str) -> None:
    if server.token_file and not os.access(server.token_file, os.R_OK):
        raise ConfigError(file, "server.token_file", f"cannot be read: {server.token_file}")
    if server.require_token and not server.token_file and not os.environ.get("CREDENTIALS_DIRECTORY"):
        raise ConfigError(file, "server.require_token", "expected server.token_file beside it")
    for origin in server.allowed_origins:
        if not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^/\s]+", origin):
            raise ConfigError(file, "server.allowed_origins", f"expected scheme://host, found {origin!r}")


def _check_web(web: Web, file: str) -> None:
    if web.overlay_folder and not Path(web.overlay_folder).expanduser().is_dir():
        raise ConfigError(file, "web.overlay_folder", f"is no folder: {web.overlay_folder}")


def _check_stations(stations: Sequence[StationConfig], file: str) -> None:
    seen: set[str] = set()
    for i, station in enumerate(stations):
        key = f"stations[{i}]"
        if not _STATION_ID.fullmatch(station.id):
            raise ConfigError(file, f"{key}.id", f"expected letters, digits, `.`, `_`, `-`; found {station.id!r}")
        if station.id in seen:
            raise ConfigError(file, f"{key}.id", f"{station.id!r} is there twice")
        seen.add(station.id)
        if not station.folder:
            raise ConfigError(file, f"{key}.folder", "expected a folder")
        if Path(station.folder).expanduser().is_file():
            raise ConfigError(file, f"{key}.folder", f"is a file: {station.folder}")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def stations_of_folders(folders: Sequence[Path]) -> list[StationConfig]:
    """A station for each folder, named after it, `-2`, `-3` when the name is taken."""
    stations: list[StationConfig] = []
    taken: set[str] = set()
    for folder in folders:
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-.")[:60] or "main"
        name, count = base, 1
        while name in taken:
            count += 1
            name = f"{base}-{count}"
        taken.add(name)
        stations.append(StationConfig(id=name, folder=str(folder)))
    return stations


def usual_folders(home: Path | None = None, platform: str = sys.platform) -> list[Path]:
    """Where the Slippi launcher and its relatives write replays on this platform; those that exist, else the first."""
    home = home or Path.home()
    documents = home / "Documents"
    candidates = {
        "win32": [documents / "Slippi"],
        "darwin": [home / "Slippi", documents / "Slippi"],
    }.get(platform, [home / "Slippi", documents / "Slippi", home / ".local/share/Slippi"])
    return [folder for folder in candidates if folder.is_dir()] or candidates[:1]


def _type_name(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        return " or ".join(f'"{value}"' for value in get_args(hint))
    if get_origin(hint) is list:
        return f"list of {_type_name(get_args(hint)[0])}"
    names = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
    name: str = hint.__name__
    return names.get(name, name)
