"""Declares `[audit]` and the comparison of setups."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Command, Page, Part
from slpstream.system.metric_row import Row


class Audit(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[audit]`: the comparison of setups."""

    games: Annotated[int, Meta(ge=1, le=20, description="How many of a station's newest games are compared.")] = 5
    hours: Annotated[
        float, Meta(gt=0, description="Games are not compared that were played this long before the newest one.")
    ] = 24.0
    clock_seconds: Annotated[
        float, Meta(ge=0, description="Clocks of consoles that differ by more than this are reported.")
    ] = 120.0
    frame_rate: Annotated[
        float, Meta(ge=0, description="Setups whose frames per second differ by more than this are reported.")
    ] = 0.5
    stutters_per_minute: Annotated[
        float,
        Meta(ge=0, description="Setups with this many more stutters per minute than the others are reported."),
    ] = 10.0


PART = Part(
    name="audit",
    docs="tournament/index.md",
    sections=[Section("audit", Audit, applied_at_reload=True)],
    start="slpstream.parts.audit.setup_audit:SetupAudit",
    metrics=[
        Row(
            "slpstream_setup_differences",
            "gauge",
            "1 for each value in which a setup has lastingly differed from the others; see `/v1/audit`.",
            ("station", "what"),
        ),
    ],
    endpoints="slpstream.parts.audit.endpoints:endpoints",
    pages=[Page("/audit", "audit.html")],
    commands=[Command("audit", "Compare the setups of a tournament.", "slpstream.parts.audit.cli:command")],
)
