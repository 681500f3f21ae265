"""Declares `[verify]` and the command `verify`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Command, Part
from slpstream.system.metric_row import Row


class Verify(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[verify]`: the daemon's check of itself."""

    finished_games: Annotated[
        bool, Meta(description="Decode each finished game again and compare it with the messages that were sent live.")
    ] = False


PART = Part(
    name="verify",
    sections=[Section("verify", Verify)],
    wanted=lambda config: config.section(Verify).finished_games,
    start="slpstream.parts.verify.checked_games:CheckedGames",
    alias="replay_check",
    metrics=[
        Row(
            "slpstream_verified_games_total",
            "counter",
            "Finished games that were decoded again, by result: equal, different, unreadable, skipped.",
            ("station", "result"),
        ),
    ],
    commands=[
        Command(
            "verify", "Find the first difference between two replays or logs.", "slpstream.parts.verify.cli:command"
        ),
    ],
)
