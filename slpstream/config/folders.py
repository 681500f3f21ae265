"""The folders for replays, state and recordings.

This module also makes ids of stations from folders, and parses addresses.
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from slpstream.config.sections import Config, StationConfig
from slpstream.model.foreign_data import json_or_none
from slpstream.model.messages import ON_AIR
from slpstream.model.prepared import prepared
from slpstream.system import systemd
from slpstream.system.files import read_regular
from slpstream.system.host_name import resolvable


def is_loopback(host: str) -> bool:
    """Whether you can reach an address from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address(text: str, default_port: int) -> tuple[str, int]:
    """Parse `host`, `host:port`, `[v6]:port` or a bare IPv6 address. Raises `ValueError` if it is anything else."""
    if text.count(":") > 1 and not text.startswith("["):
        return str(ipaddress.IPv6Address(text)), default_port
    parts = urlsplit(f"//{text}")
    host = parts.hostname
    if text.startswith("[") and not re.match(r"\[[^\]]*\](:|$)", text):
        raise ValueError(f"not an address: {text!r}")
    if not host or parts.path or parts.query or parts.fragment or parts.username is not None or re.search(r"\s", text):
        raise ValueError(f"not an address: {text!r}")
    return resolvable(host), default_port if parts.port is None else parts.port


def stations_of_folders(folders: Sequence[Path]) -> list[StationConfig]:
    """Make one station for each folder.

    It gets the name of the folder and, if this is taken, `-2`, `-3` and so on after it.
    """
    stations: list[StationConfig] = []
    taken: set[str] = set()
    for folder in folders:
        name = station_id(folder.resolve().name, taken)
        taken.add(name)
        stations.append(StationConfig(id=name, folder=str(folder)))
    return stations


def station_id(name: str, taken: Collection[str]) -> str:
    """Make a station id from any name.

    If there are characters that aren't allowed in an id, they become `-`. If the id is already taken, this appends
    `-2`, `-3` and so on.
    """
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:60] or "main"
    id_, count = base, 1
    while id_ in taken or id_ == ON_AIR:
        count += 1
        id_ = f"{base}-{count}"
    return id_


def usual_folders(
    home: Path | None = None,
    platform: str = sys.platform,
    *,
    environ: Mapping[str, str] = os.environ,
    documents: Path | None = None,
) -> list[Path]:
    """Return the folders to which Slippi and related programs write their replays on this platform.

    If a folder is set in the Slippi Launcher, and it exists, then this is the one. Otherwise, you get all default
    folders that exist, or if there are none, the first candidate. If you don't pass `documents`, we use the Documents
    folder that Windows knows.
    """
    home, known_documents = (home, None) if home is not None else (Path.home(), documents_folder())
    documents = documents or known_documents or home / "Documents"
    candidates = {
        "win32": [documents / "Slippi"],
        "darwin": [home / "Slippi", documents / "Slippi"],
    }.get(platform, [home / "Slippi", documents / "Slippi", home / ".local/share/Slippi"])
    chosen = launcher_folder(_program_settings(home, platform, environ) / "Slippi Launcher" / "Settings")
    if chosen is not None:
        if chosen.is_dir():
            return [chosen]
        candidates.insert(0, chosen)
    return [folder for folder in candidates if folder.is_dir()] or candidates[:1]


def launcher_folder(settings: Path) -> Path | None:
    """Find out which folder for replays is set in a settings file of the Slippi Launcher.

    Returns `None` if it isn't set or if we can't read it. We know this from the launcher's source code:
    electron-settings keeps the settings that were changed as JSON in the file `Settings`, and the folder is
    `settings.rootSlpPath`. If the folder was never changed, it isn't in the file.
    """
    try:
        found = json_or_none(read_regular(settings), _LauncherSettings)
    except OSError:
        return None
    folder = None if found is None else found.settings.root_slp_path
    return Path(folder) if folder and "\0" not in folder else None


class _LauncherPaths(msgspec.Struct, rename={"root_slp_path": "rootSlpPath"}):
    root_slp_path: str | None = None


@prepared
class _LauncherSettings(msgspec.Struct):
    settings: _LauncherPaths = msgspec.field(default_factory=_LauncherPaths)


def _program_settings(home: Path, platform: str, environ: Mapping[str, str]) -> Path:
    """Return the folder where desktop programs keep their settings. Each program has a subfolder there."""
    if platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData/Roaming")
    if platform == "darwin":
        return home / "Library/Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config")


def documents_folder() -> Path | None:
    """Return the user's Documents folder if the system knows it, which is only the case on Windows."""
    if sys.platform == "win32":
        from slpstream.system import windows  # noqa: PLC0415 -- cannot be imported on other systems

        return windows.documents_folder()
    else:  # noqa: RET505 -- otherwise mypy finds the end unreachable
        return None


def state_folder(
    configured: str,
    *,
    environ: Mapping[str, str] = os.environ,
    home: Path | None = None,
    platform: str = sys.platform,
) -> Path:
    """Return the folder for everything that must survive a restart.

    This is the folder in the configuration. If there isn't one, it is systemd's state directory, or else the usual
    place on this platform.
    """
    if configured:
        return Path(configured).expanduser()
    from_systemd = systemd.state_directory(environ, platform)
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
    """Return the folder for recordings. In it, each station has its own subfolder."""
    if config.recordings.folder:
        return Path(config.recordings.folder).expanduser()
    return state_folder(config.store.folder) / "recordings"


def station_folder(station: StationConfig, recordings: Path) -> Path:
    """Return the folder that a station tails, which is either its own or the one that its console is recorded into."""
    return Path(station.folder).expanduser() if station.folder else recordings / station.id
