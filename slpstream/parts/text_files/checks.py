"""The check of `obs.folder`."""

from __future__ import annotations

from slpstream.config.checks import check_folder
from slpstream.config.sections import Config
from slpstream.parts.text_files.part import ObsFolder


def check(config: Config, file: str) -> None:
    """Check the section. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    check_folder(config.section(ObsFolder).folder, file, "obs.folder")
