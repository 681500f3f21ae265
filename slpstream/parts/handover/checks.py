"""Checks of `[handover]`."""

from __future__ import annotations

import re

from slpstream.config.checks import check_folder, expanded
from slpstream.config.folders import recordings_folder, station_folder
from slpstream.config.sections import Config
from slpstream.model.errors import ConfigError
from slpstream.parts.handover.part import REPLAY_PLACEHOLDERS, ZIP_PLACEHOLDERS, Handover
from slpstream.system.files import real_path


def check(config: Config, file: str) -> None:
    """Check the section. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    handover = config.section(Handover)
    if handover.folder:
        check_folder(handover.folder, file, "handover.folder")
        _check_unwatched(handover, config, file)
    for key, placeholders in (("replay_name", REPLAY_PLACEHOLDERS), ("zip_name", ZIP_PLACEHOLDERS)):
        unknown = set(re.findall(r"\{(\w*)\}", getattr(handover, key))) - set(placeholders)
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in placeholders)
            raise ConfigError(file, f"handover.{key}", f"expected some of {known}; found {{{min(unknown)}}}")


def _check_unwatched(handover: Handover, config: Config, file: str) -> None:
    """Refuse a folder for zips in which a station would find them, because it would take their replays for other
    games.
    """
    folder = real_path(expanded(handover.folder, file, "handover.folder"))
    recordings = recordings_folder(config)
    for i, station in enumerate(config.stations):
        expanded(station.folder, file, f"stations[{i}].folder")
        if folder.is_relative_to(real_path(station_folder(station, recordings))):
            what = f"is in the folder of the station {station.id}, which would read the zips"
            raise ConfigError(file, "handover.folder", what, found=handover.folder)
