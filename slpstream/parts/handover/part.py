"""Declares `[handover]`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Command, Part
from slpstream.system.metric_row import Row

REPLAY_NAME = " - {playersChars} - {stage}"
ZIP_NAME = "{phaseOrEvent} {roundShort} - {playersChars}"
REPLAY_PLACEHOLDERS = (
    "date", "time", "roundShort", "roundLong", "stage", "ordinal", "playersOnly", "playersChars", "singlesChars",
)  # fmt: skip
ZIP_PLACEHOLDERS = (
    "date", "time", "roundShort", "roundLong", "games", "tournamentName", "tournamentSlug", "event", "phase",
    "phaseGroup", "phaseOrEvent", "playersOnly", "playersChars", "singlesChars",
)  # fmt: skip
"""The placeholders in the templates of `[handover]`, in the order in which they are replaced."""


class Handover(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[handover]`: the replays of each set as a zip, for programs that upload or replay them."""

    folder: Annotated[
        str,
        Meta(
            description="Folder into which a zip is written when a set ends, outside of the folders of stations. "
            "Nothing in it is ever deleted. Empty disables it; the dashboard offers the zips all the same.",
            extra={"writes": True},
        ),
    ] = ""
    delay_seconds: Annotated[
        float,
        Meta(ge=0, le=86_400, description="How long after the end of a set it is written: time to correct names."),
    ] = 60.0
    replay_name: Annotated[
        str,
        Meta(
            max_length=300,
            description="Names of the replays after their number. Placeholders: `{"
            + "}`, `{".join(REPLAY_PLACEHOLDERS)
            + "}`.",
        ),
    ] = REPLAY_NAME
    zip_name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=300,
            description="Names of the zips. Placeholders: `{" + "}`, `{".join(ZIP_PLACEHOLDERS) + "}`.",
        ),
    ] = ZIP_NAME


PART = Part(
    name="handover",
    docs="tournament/bracket.md",
    sections=[Section("handover", Handover, check="slpstream.parts.handover.checks:check")],
    start="slpstream.parts.handover.handover:ReplayZips",
    metrics=[
        Row("slpstream_handover_zips_total", "counter", "Zips of the replays of a set that were written to `folder`."),
        Row("slpstream_handover_failures_total", "counter", "Failed attempts to write such a zip."),
        Row("slpstream_handover_waiting_sets", "gauge", "Sets that are over and whose zip is not written yet."),
    ],
    endpoints="slpstream.parts.handover.endpoints:endpoints",
    commands=[
        Command(
            "replays",
            "Make a zip of the replays of each set, for other programs.",
            "slpstream.parts.handover.cli:command",
        )
    ],
)
