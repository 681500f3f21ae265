"""Declares `[fanout]` and the command `gateway`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Secret, Section
from slpstream.parts.interface import Command, Part
from slpstream.system.metric_row import Row


class Fanout(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[fanout]`: the broker for gateways on other machines. Needs the extra `fanout`."""

    url: Annotated[
        Secret,
        Meta(
            description="`redis://`, `rediss://` or `redis+cluster://`, with user and password. Empty disables the "
            "broker."
        ),
    ] = ""
    password_file: Annotated[
        Secret, Meta(description="File whose first line is the password, in place of one in the URL.")
    ] = ""
    ca_file: Annotated[
        str, Meta(description="File of certificates to trust, for `rediss://`. Empty: those of the system.")
    ] = ""
    event: Annotated[
        str, Meta(description="Name of the event. Its streams are named `slpstream:<event>:<station>`.")
    ] = "main"
    max_messages: Annotated[
        int,
        Meta(ge=1000, description="Messages kept in a station's live stream; the finalized stream keeps half as many."),
    ] = 100_000
    max_age_minutes: Annotated[
        int, Meta(ge=0, description="Trim messages older than this as well. 0 trims only by number.")
    ] = 0


PART = Part(
    name="fanout",
    docs="howto/install.md",
    sections=[Section("fanout", Fanout, check="slpstream.parts.fanout.checks:check")],
    wanted=lambda config: bool(config.section(Fanout).url),
    start="slpstream.parts.fanout.configured:Broker",
    alias="broker",
    metrics=[
        Row(
            "slpstream_broker_sent_messages_total",
            "counter",
            "Messages accepted by the broker, in both frames modes.",
            ("station",),
        ),
        Row("slpstream_broker_received_messages_total", "counter", "Messages that a gateway read from the broker."),
        Row("slpstream_broker_reconnects_total", "counter", "Lost connections to the broker."),
        Row("slpstream_broker_connected", "gauge", "1 while the broker answers.", idle=0.0),
        Row(
            "slpstream_broker_full",
            "gauge",
            "1 while the broker's memory is too small for fanout.max_messages.",
            idle=0.0,
        ),
        Row("slpstream_broker_evicts", "gauge", "1 if the broker deletes logs when its memory is full.", idle=0.0),
        Row(
            "slpstream_broker_lag_seconds", "gauge", "Time since the broker last had the newest message.", ("station",)
        ),
        Row("slpstream_broker_lag_bytes", "gauge", "Bytes of the current replay not yet in the broker.", ("station",)),
    ],
    commands=[
        Command("gateway", "Serve the stations of an event from the broker.", "slpstream.parts.fanout.cli:command")
    ],
    without_stations="none: a gateway serves those of the broker; `serve` watches the usual Slippi folders",
)
