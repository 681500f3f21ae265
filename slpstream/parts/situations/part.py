"""Declares `[[situations]]`, the endpoint and the command `situations`, and the function of the Python interface."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Command, Part
from slpstream.system.metric_row import Row


class Situation(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[situations]]`: a situation that is looked for in the games of stations while they are played."""

    name: Annotated[str, Meta(min_length=1, max_length=100, description="Name in webhooks, rules and marks. Unique.")]
    query: Annotated[
        str,
        Meta(
            description="The situation, such as `fox: upthrow -> upair, kill`; docs/data/situations.md has the words."
        ),
    ]
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    mark: Annotated[
        bool, Meta(description="Mark the moment, so that it is on the dashboard and can be shown again.")
    ] = False
    highlight: Annotated[
        bool, Meta(description="List it among the highlights, so that it is among the best moments of a set.")
    ] = False
    score: Annotated[
        float, Meta(ge=0, le=1000, description="For `highlight`: its score among the highlights of games.")
    ] = 100.0


PART = Part(
    name="situations",
    sections=[Section("situations", Situation, many=True, check="slpstream.parts.situations.checks:check")],
    start="slpstream.parts.situations.situations:Situations",
    metrics=[
        Row("slpstream_situations_total", "counter", "Situations found in the games of stations.", ("station",)),
    ],
    endpoints="slpstream.parts.situations.endpoints:endpoints",
    commands=[
        Command("situations", "Find situations in the frames of replays.", "slpstream.parts.situations.cli:command")
    ],
    functions={"find_situations": "slpstream.parts.situations.replay:find_situations"},
)
