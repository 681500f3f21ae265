"""Declares `[[scoreboards]]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row

SCOREBOARD_VALUES = (
    *(
        f"{name}{side}"
        for side in (1, 2)
        for name in ("name", "sponsor", "pronouns", "seed", "code", "port", "character", "score", "result")
    ),
    *("best_of", "round", "event", "caster1", "caster2", "casters", "winner"),
)
"""Names of the values that `scoreboards.mapping` can use. The left side has the number 1."""


class Scoreboard(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[scoreboards]]`: a scoreboard tool that shows the set of a station."""

    kind: Annotated[
        Literal["tournament-stream-helper", "melee-stream-tool", "streamcontrol", "text"],
        Meta(description="The tool. `text`: text files with one value each, for any program."),
    ]
    station: Annotated[str, Meta(description="Id of the station to show, or `on-air` for the station on air.")]
    name: Annotated[str, Meta(description="Name in logs and metrics. Empty: the kind.")] = ""
    url: Annotated[
        str,
        Meta(description="Only `tournament-stream-helper`: address of its web server. Empty: http://127.0.0.1:5000."),
    ] = ""
    number: Annotated[
        int, Meta(ge=1, le=99, description="Only `tournament-stream-helper`: number of the scoreboard in it.")
    ] = 1
    path: Annotated[
        str,
        Meta(
            description="The folder `Resources/Texts` of Melee Stream Tool, the file `streamcontrol.json`, or the "
            "folder for the text files.",
            extra={"writes": True},
        ),
    ] = ""
    mapping: Annotated[
        dict[str, str],
        Meta(
            description="Only `streamcontrol` and `text`: names of values by widget or by file name, such as "
            '`{ pName1 = "name1" }`. Empty: the default of the kind.'
        ),
    ] = {}


PART = Part(
    name="scoreboards",
    docs="production/remote_controls.md",
    sections=[Section("scoreboards", Scoreboard, many=True, check="slpstream.parts.scoreboards.checks:check")],
    wanted=lambda config: bool(config.sections(Scoreboard)),
    start="slpstream.parts.scoreboards.scoreboards:Scoreboards",
    alias="scoreboard",
    metrics=[
        Row(
            "slpstream_scoreboard_updates_total",
            "counter",
            "Updates of scoreboards, by outcome: updated, failed (tried again).",
            ("scoreboard", "outcome"),
            known_values=("updated", "failed"),
        ),
        Row("slpstream_scoreboard_working", "gauge", "1 while the scoreboard can be updated.", ("scoreboard",)),
    ],
)
