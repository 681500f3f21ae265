"""Folders for replays, state and recordings; ids of stations made from folders; parsing of addresses."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from slpstream.config.sections import Config, StationConfig
from slpstream.system import systemd


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address(text: str, default_port: int) -> tuple[str, int]:
    """Parse `host`, `host:port`, `[v6]:port` or a bare IPv6 address. Raises `ValueError`."""
    if text.count(":") > 1 and not text.startswith("["):
        return str(ipaddress.IPv6Address(text)), default_port
    parts = urlsplit(f"//{text}")
    host = parts.hostname
    if not host or parts.path or parts.query or parts.fragment or parts.username is not None or re.search(r"\s", text):
        raise ValueError(f"not an address: {text!r}")
    return resolvable(host), default_port if parts.port is None else parts.port


def resolvable(host: str) -> str:
    """Encode a host name for the resolver. Raises `ValueError` for a name that no resolver would look up, such as one
    with an empty or overlong label."""
    return host.encode("idna").decode()


def stations_of_folders(folders: Sequence[Path]) -> list[StationConfig]:
    """One station for each folder, named after it, with `-2`, `-3` and so on when the name is taken."""
    stations: list[StationConfig] = []
    taken: set[str] = set()
    for folder in folders:
        name = station_id(folder.resolve().name, taken)
        taken.add(name)
        stations.append(StationConfig(id=name, folder=str(folder)))
    return stations


def station_id(name: str, taken: Collection[str]) -> str:
    """Make a station id from any name.

    Characters that are not allowed in an id become `-`; `-2`, `-3` and so on is appended when the id is taken.
    """
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:60] or "main"
    id_, count = base, 1
    while id_ in taken:
        count += 1
        id_ = f"{base}-{count}"
    return id_


def usual_folders(home: Path | None = None, platform: str = sys.platform) -> list[Path]:
    """The folders that Slippi and related programs write replays to by default on this platform.

    Returns those that exist, or the first candidate if none of them exists.
    """
    home = home or Path.home()
    documents = home / "Documents"
    candidates = {
        "win32": [documents / "Slippi"],
        "darwin": [home / "Slippi", documents / "Slippi"],
    }.get(platform, [home / "Slippi", documents / "Slippi", home / ".local/share/Slippi"])
    return [folder for folder in candidates if folder.is_dir()] or candidates[:1]


def state_folder(
    configured: str,
    *,
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
    platform: str = sys.platform,
) -> Path:
    """The folder for everything that must survive a restart.

    It is the configured folder, else systemd's state directory, else the usual place on this platform.
    """
    if configured:
        return Path(configured).expanduser()
    from_systemd = systemd.state_directory(environ)
    if from_systemd is not None:
        return from_systemd
    home = home or Path.home()
    if platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData/Local")
    elif platform == "darwin":
        base = home / "Library/Application Support"
    else:
        base = Path(environ.get("XDG_STATE_HOME") or home / ".local/state")
    return base / "slpstream"


def recordings_folder(config: Config) -> Path:
    """The folder for recordings, which has a subfolder for each station."""
    if config.recordings.folder:
        return Path(config.recordings.folder).expanduser()
    return state_folder(config.store.folder) / "recordings"


def station_folder(station: StationConfig, recordings: Path) -> Path:
    """The folder that a station tails: its own, or the one that its console is recorded into."""
    return Path(station.folder).expanduser() if station.folder else recordings / station.id
