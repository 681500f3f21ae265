"""Declares `[playback]`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row


class Playback(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[playback]`: a Playback Dolphin, which mirrors a station and shows instant replays."""

    file: Annotated[
        str,
        Meta(
            description="Communication file of the Playback Dolphin, as in its option `-i`. Nothing else may write it. "
            "Empty disables it.",
            extra={"writes": True},
        ),
    ] = ""
    station: Annotated[str, Meta(description="Station to mirror, or `on-air` for the station on air.")] = ""
    set_moments: Annotated[
        int,
        Meta(ge=0, le=50, description="How many of the best moments of a set to show after it. 0 disables them."),
    ] = 5
    seek_speed: Annotated[
        float,
        Meta(
            ge=1,
            description="How many times faster than the game this Dolphin fast-forwards to a moment. slpstream uses it "
            "to estimate when a replay is over.",
        ),
    ] = 6.0


PART = Part(
    name="playback_dolphin",
    sections=[Section("playback", Playback, check="slpstream.parts.playback_dolphin.checks:check")],
    wanted=lambda config: bool(config.section(Playback).file),
    start="slpstream.parts.playback_dolphin.configured:ConfiguredDolphin",
    alias="playback",
    metrics=[
        Row(
            "slpstream_playback_commands_total",
            "counter",
            "Commands written for the Playback Dolphin.",
            ("kind",),
            known_values=("mirror", "replay", "queue"),
        ),
        Row("slpstream_playback_failures_total", "counter", "Failed attempts to write its communication file."),
        Row(
            "slpstream_playback_unread",
            "gauge",
            "1 while the Playback Dolphin does not read its communication file.",
            idle=0.0,
        ),
    ],
    endpoints="slpstream.parts.playback_dolphin.endpoints:endpoints",
)
