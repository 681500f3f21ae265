"""Declares `[bracket]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.config.sections import Positive, Secret, Section
from slpstream.parts.interface import Command, Page, Part
from slpstream.system.metric_row import Row


class Bracket(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[bracket]`: where results are reported, and which sets are expected."""

    kind: Annotated[
        str,
        Meta(
            description='"start.gg", "webhook" (each result is posted as JSON), or a kind that an installed package '
            "adds. Empty disables it."
        ),
    ] = ""
    events: Annotated[
        list[str],
        Meta(description="Events on start.gg, such as `tournament/the-big-one/event/melee-singles`."),
    ] = []
    url: Annotated[
        Secret,
        Meta(description="Where requests are sent. Required for `webhook`; empty for the usual address of the kind."),
    ] = ""
    token_file: Annotated[
        Secret,
        Meta(
            description="File whose first line is the token of start.gg, or the secret that webhooks are signed with. "
            "It is read again for each request."
        ),
    ] = ""
    report: Annotated[
        bool,
        Meta(
            description="Change the bracket. Otherwise this is a dry run, which shows what would be sent; what is "
            "played meanwhile is reported only after a person has confirmed it."
        ),
    ] = False
    confirm: Annotated[
        bool, Meta(description="A person confirms each result before it is reported. Otherwise it goes by itself.")
    ] = True
    games: Annotated[
        bool, Meta(description="Without `confirm`: report each game when it is over, not only the whole set.")
    ] = True
    hold_seconds: Annotated[
        float,
        Meta(ge=0, le=3600, description="Without `confirm`: how long a result waits, so that it can be corrected."),
    ] = 20.0
    match: Annotated[
        Literal["players", "called"],
        Meta(
            description="Sets that are considered for what is played: all sets with these players, or only those that "
            "were called, begun, or assigned to the station."
        ),
    ] = "players"
    stations: Annotated[
        dict[str, str],
        Meta(
            description='Our stations by number or name in the bracket, such as `{ 12 = "wii-12" }`. Others are '
            "matched by name, or by the number at the end of our id or name."
        ),
    ] = {}
    streams: Annotated[
        dict[str, str],
        Meta(
            description="Our stations by the name of the stream in the bracket that shows them, such as `{ BTSmelee = "
            '"stream" }`. The players of the next set in its queue are expected there.'
        ),
    ] = {}
    call_sets: Annotated[
        bool, Meta(description="Call a set that is assigned to a station as soon as the station is free.")
    ] = False
    start_sets: Annotated[bool, Meta(description="Mark a set as in progress when its first game begins.")] = False
    assign_stations: Annotated[
        bool, Meta(description="Assign a set without a station to the one on which it is played.")
    ] = False
    details: Annotated[
        bool,
        Meta(
            description="Give a station the round, the event and the length of its set where the operator has given "
            "none."
        ),
    ] = True
    poll_seconds: Annotated[float, Meta(ge=5, le=600, description="Seconds between two looks at the bracket.")] = 15.0
    requests_per_minute: Annotated[
        int, Meta(ge=6, le=80, description="Limit of requests. start.gg allows a token 80 in all.")
    ] = 60
    timeout_seconds: Annotated[Positive, Meta(description="How long to wait for an answer.")] = 15.0


PART = Part(
    name="bracket",
    docs="tournament/bracket.md",
    sections=[Section("bracket", Bracket, check="slpstream.parts.bracket.checks:check")],
    wanted=lambda config: bool(config.section(Bracket).kind),
    start="slpstream.parts.bracket.configured:ConfiguredBracket",
    metrics=[
        Row(
            "slpstream_bracket_reports_total",
            "counter",
            "Reports to the bracket, by outcome: reported, corrected, already_there (by somebody else, or the "
            "answer was lost), conflict (the bracket has another result), tried_again.",
            ("outcome",),
            known_values=("reported", "corrected", "already_there", "conflict", "tried_again"),
        ),
        Row(
            "slpstream_bracket_connected",
            "gauge",
            "1 while the bracket answers, and for a webhook that accepts results.",
            idle=0.0,
        ),
        Row(
            "slpstream_bracket_waiting_sets",
            "gauge",
            "Sets that wait, by why: due (for the bracket), confirm, ask and conflict (for a person).",
            ("state",),
        ),
        Row(
            "slpstream_bracket_lag_seconds",
            "gauge",
            "How long the oldest result that may be reported has been waiting.",
            idle=0.0,
        ),
    ],
    endpoints="slpstream.parts.bracket.endpoints:endpoints",
    pages=[Page("/bracket", "bracket.html")],
    functions={"startgg_variables": "slpstream.parts.bracket.startgg.variables:bracket_set"},
    commands=[
        Command(
            "bracket",
            "Check the bracket of a configuration, and list its stations and sets.",
            "slpstream.parts.bracket.cli:command",
        )
    ],
)
