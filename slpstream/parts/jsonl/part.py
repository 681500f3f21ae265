"""Declares `[[jsonl]]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row


class JsonLines(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[jsonl]]`: log messages as files of JSON lines, one for each game."""

    folder: Annotated[
        str, Meta(description="Folder for the files, with a subfolder for each station.", extra={"writes": True})
    ]
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    topics: Annotated[
        list[Literal["game", "frame", "event", "stats", "diagnostic"]],
        Meta(description="Topics to include. Empty: all but frames."),
    ] = []
    frames: Annotated[
        Literal["live", "finalized"],
        Meta(description="Every revision of each frame, or each frame once when it is final."),
    ] = "finalized"


PART = Part(
    name="jsonl",
    sections=[Section("jsonl", JsonLines, many=True, check="slpstream.parts.jsonl.checks:check")],
    wanted=lambda config: bool(config.sections(JsonLines)),
    start="slpstream.parts.jsonl.folders:JsonLinesFolders",
    metrics=[
        Row("slpstream_jsonl_bytes_total", "counter", "Bytes written as JSON lines.", ("station",)),
    ],
)
