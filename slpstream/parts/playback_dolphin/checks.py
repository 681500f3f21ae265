"""Checks `[playback]`."""

from __future__ import annotations

from slpstream.config.checks import check_followed, expanded
from slpstream.config.sections import Config
from slpstream.model.errors import ConfigError
from slpstream.model.messages import ON_AIR
from slpstream.parts.playback_dolphin.part import Playback


def check(config: Config, file: str) -> None:
    """Check the section. Raises `ConfigError`, which names `file`, if it isn't valid."""
    playback = config.section(Playback)
    if not playback.file:
        return
    try:
        is_folder = expanded(playback.file, file, "playback.file").is_dir()
    except OSError:
        is_folder = False  # as on an unmounted share, which may come back
    if is_folder:
        raise ConfigError(file, "playback.file", "is a folder", found=playback.file)
    if not playback.station:
        raise ConfigError(file, "playback.station", f"expected the id of a station, or {ON_AIR!r}")
    check_followed(playback.station, config, file, "playback.station")
