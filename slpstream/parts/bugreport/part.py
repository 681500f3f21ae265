"""Declares the command `bugreport`, and the key of `[log]` for the lines that it shows."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.model.prepared import prepared
from slpstream.parts.interface import Command, Part

LOG_PATH = "/v1/log"


@prepared
class LogLines(msgspec.Struct):
    """The newest lines of the log, oldest first. Each one is a JSON object."""

    lines: list[str]


class KeptLog(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The key of `[log]` for the lines that stay in memory."""

    kept_lines: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="How many of the newest log lines the daemon keeps in memory for `slpstream bugreport`. 0 "
            "keeps none.",
        ),
    ] = 200


PART = Part(
    name="bugreport",
    docs="howto/runbook.md",
    sections=[Section("log", KeptLog)],
    wanted=lambda config: config.section(KeptLog).kept_lines > 0,
    start="slpstream.parts.bugreport.kept_log:KeptLines",
    endpoints="slpstream.parts.bugreport.kept_log:endpoints",
    commands=[
        Command(
            "bugreport", "Write one file for a bug report, without secrets.", "slpstream.parts.bugreport.cli:command"
        )
    ],
)
