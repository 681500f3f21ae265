"""Where things are when nobody says: replay folders, the state folder; and names for what has none."""

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
    """Whether an address to listen on is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address(text: str, default_port: int) -> tuple[str, int]:
    """`host`, `host:port`, `[v6]:port` or a bare IPv6 address to host and port. Raises `ValueError`."""
    if text.count(":") > 1 and not text.startswith("["):
        return str(ipaddress.IPv6Address(text)), default_port
    parts = urlsplit(f"//{text}")
    host = parts.hostname
    if not host or parts.path or parts.query or parts.fragment or parts.username is not None or re.search(r"\s", text):
        raise ValueError(f"no address: {text!r}")
    return resolvable(host), default_port if parts.port is None else parts.port


def resolvable(host: str) -> str:
    """A host name as resolvers take it. Raises `ValueError` for what they would not even look up: an empty label, a
    long one."""
    return host.encode("idna").decode()


def stations_of_folders(folders: Sequence[Path]) -> list[StationConfig]:
    """A station for each folder, named after it, `-2`, `-3` when the name is taken."""
    stations: list[StationConfig] = []
    taken: set[str] = set()
    for folder in folders:
        name = station_id(folder.resolve().name, taken)
        taken.add(name)
        stations.append(StationConfig(id=name, folder=str(folder)))
    return stations


def station_id(name: str, taken: Collection[str]) -> str:
    """An id made of any name: what may not be in one becomes `-`, and `-2`, `-3` follows when it is taken."""
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:60] or "main"
    found, count = base, 1
    while found in taken:
        count += 1
        found = f"{base}-{count}"
    return found


def usual_folders(home: Path | None = None, platform: str = sys.platform) -> list[Path]:
    """Where the Slippi launcher and its relatives write replays on this platform; those that exist, else the first."""
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
    """Where what must survive a restart is kept: as configured, else systemd's state directory, else the platform's
    usual place."""
    if configured:
        return Path(configured).expanduser()
    given = systemd.state_directory(environ)
    if given is not None:
        return given
    home = home or Path.home()
    if platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData/Local")
    elif platform == "darwin":
        base = home / "Library/Application Support"
    else:
        base = Path(environ.get("XDG_STATE_HOME") or home / ".local/state")
    return base / "slpstream"


def recordings_folder(config: Config) -> Path:
    """Where what slpstream records is kept, a folder for each station."""
    if config.recordings.folder:
        return Path(config.recordings.folder).expanduser()
    return state_folder(config.store.folder) / "recordings"


def station_folder(station: StationConfig, recordings: Path) -> Path:
    """The folder that a station tails: its own, or where its console is recorded."""
    return Path(station.folder).expanduser() if station.folder else recordings / station.id
