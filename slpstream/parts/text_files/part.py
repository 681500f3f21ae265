"""Declares `obs.folder`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Part


class ObsFolder(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[obs]`: the text files for OBS."""

    folder: Annotated[
        str,
        Meta(
            description="Folder for the text files, with a subfolder for each station. Empty disables them.",
            extra={"writes": True},
        ),
    ] = ""


PART = Part(
    name="text_files",
    sections=[Section("obs", ObsFolder, check="slpstream.parts.text_files.checks:check")],
    wanted=lambda config: bool(config.section(ObsFolder).folder),
    start="slpstream.parts.text_files.files:start",
    alias="obs",
)
