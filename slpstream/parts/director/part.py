"""Declares `[director]`, its endpoints, its messages and its scene."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Config, Section
from slpstream.model.errors import ConfigError
from slpstream.parts.interface import Message, Page, Part

MIN_STATIONS, MAX_STATIONS = 2, 8


class Director(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[director]`: which of several stations is shown large."""

    stations: Annotated[
        list[str],
        Meta(max_length=MAX_STATIONS, description="Ids of two to eight stations. Empty disables the director."),
    ] = []
    hold_seconds: Annotated[
        float, Meta(ge=0, description="At most one change in this time, except by the operator.")
    ] = 8.0
    on_air: Annotated[bool, Meta(description="Put the chosen station on air whenever the choice changes.")] = False


def check(config: Config, file: str) -> None:
    """Check the section. Raises `ConfigError`, which names `file`, if it isn't valid."""
    stations = config.section(Director).stations
    if stations and len(set(stations)) < max(MIN_STATIONS, len(stations)):
        raise ConfigError(file, "director.stations", "expected two to eight different stations")


PART = Part(
    name="director",
    docs="production/index.md",
    sections=[Section("director", Director, check="slpstream.parts.director.part:check")],
    wanted=lambda config: bool(config.section(Director).stations),
    start="slpstream.parts.director.directing:Directing",
    endpoints="slpstream.parts.director.endpoints:endpoints",
    pages=[Page("/scenes/director", "director.html")],
    messages=[
        Message(
            "director",
            "`chosen` (whether the director shows this station large) and `pinned` (whether the operator has pinned "
            "it): first as it is, and then at each change",
            "slpstream.parts.director.directing:SentChoice",
        )
    ],
)
