"""Declares `[controllers]`, the command `controllers` and the function of the Python interface."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Command, Part
from slpstream.system.metric_row import Row


class Controllers(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[controllers]`: the check of the players' controllers by the inputs of their games."""

    check: Annotated[
        bool,
        Meta(description="Check the controllers of all games while they are played. Findings are for operators."),
    ] = False


PART = Part(
    name="controllers",
    docs="tournament/index.md",
    sections=[Section("controllers", Controllers)],
    wanted=lambda config: config.section(Controllers).check,
    start="slpstream.parts.controllers.checked_games:CheckedGames",
    metrics=[
        Row(
            "slpstream_controller_findings_total",
            "counter",
            "Findings of the controller check in finished games, by check and confidence.",
            ("check", "confidence"),
        ),
    ],
    endpoints="slpstream.parts.controllers.endpoints:endpoints",
    commands=[
        Command(
            "controllers",
            "Check the controllers of games by their inputs.",
            "slpstream.parts.controllers.cli:command",
        )
    ],
    functions={"check_controllers": "slpstream.parts.controllers.check:checked"},
)
