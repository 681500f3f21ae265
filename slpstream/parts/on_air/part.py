"""Declares `[on_air]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.config.sections import Config, Section
from slpstream.model.errors import ConfigError
from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row


class OnAir(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[on_air]`: which station is on air, for everything that follows it."""

    choose: Annotated[
        Literal["operator", "rule"],
        Meta(
            description="`operator`: only the operator chooses. `rule`: while the operator has chosen no station, a "
            "deciding game comes first, then a game with a player on the last stock, then the station that has been "
            "off air for longest."
        ),
    ] = "operator"
    min_seconds: Annotated[
        float, Meta(ge=0, description="The rule leaves a station on air for at least this long.")
    ] = 20.0
    result_seconds: Annotated[
        float, Meta(ge=0, description="The rule keeps a station on air for this long after its game, for the result.")
    ] = 8.0
    operator_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="How long the operator's choice lasts. 0: until the operator ends it.",
        ),
    ] = 0.0


def check(config: Config, file: str) -> None:
    """Check the section. Raises `ConfigError`, which names `file`, if it isn't valid."""
    on_air = config.section(OnAir)
    if on_air.operator_seconds and on_air.choose != "rule":
        raise ConfigError(file, "on_air.operator_seconds", 'applies only with on_air.choose = "rule"')


PART = Part(
    name="on_air",
    sections=[Section("on_air", OnAir, check="slpstream.parts.on_air.part:check", applied_at_reload=True)],
    start="slpstream.parts.on_air.switcher:Switcher",
    metrics=[
        Row(
            "slpstream_on_air_switches_total",
            "counter",
            "Stations put on air, by who has chosen them.",
            ("by",),
            known_values=("operator", "rule"),
        ),
    ],
    endpoints="slpstream.parts.on_air.endpoints:endpoints",
)
