"""Declares consoles: stations that are recorded (`console`, `dolphin`), the discovery of consoles, and relay ports."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Port, Section, StationSource
from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row

SOURCES = ("console", "dolphin")
"""The keys of stations whose replays come over the network, and are recorded by slpstream."""


class NetworkKeys(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `[[stations]]` for games that come over the network, and for relaying games to other programs."""

    console: Annotated[
        str, Meta(description="Address of a Wii or a relay, `host` or `host:port`. The default port is 51441.")
    ] = ""
    dolphin: Annotated[
        str,
        Meta(
            description="Address of Dolphin's spectator server (ENet), `host` or `host:port`. The default is UDP port "
            "51441."
        ),
    ] = ""
    relay_port: Annotated[
        Port, Meta(description="TCP port on which this station is relayed as a console, usually 51441. 0 disables it.")
    ] = 0
    raw_relay_port: Annotated[
        Port,
        Meta(
            description="TCP port for the bare events without a protocol, as on the launcher's port 53741. 0 disables "
            "it."
        ),
    ] = 0
    relay_enet_port: Annotated[
        Port,
        Meta(
            description="UDP port on which this station is relayed as Dolphin's spectator server (ENet), usually "
            "51441. 0 disables it."
        ),
    ] = 0


class RecordingLimits(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `[recordings]` that say when a recording is deleted."""

    max_age_days: Annotated[int, Meta(ge=0, description="Delete older recordings. 0 disables the limit.")] = 0
    max_size_bytes: Annotated[
        int, Meta(ge=0, description="Delete the oldest recordings when all together are larger. 0 disables the limit.")
    ] = 20 << 30


class RecordingBuffer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The key of `[recordings]` for a full disk."""

    max_unwritten_bytes: Annotated[
        int,
        Meta(ge=65536, le=1 << 30, description="Memory for the unwritten data of one game while the disk is full."),
    ] = 32 << 20


class Relay(StationSource, forbid_unknown_fields=True, frozen=True):
    """`[relay]`: consoles on the network, and relaying them to other programs."""

    host: Annotated[
        str,
        Meta(
            description="Address on which stations are relayed (`relay_port`, `raw_relay_port`, `relay_enet_port`). "
            "These protocols have no token."
        ),
    ] = "127.0.0.1"
    max_clients: Annotated[
        int,
        Meta(
            ge=1,
            le=4096,
            description="Limit for simultaneous relay clients of one station. Those of `relay_enet_port` count "
            "separately.",
        ),
    ] = 16
    discovery: Annotated[
        bool, Meta(description="Turn consoles that announce themselves by broadcast into stations.")
    ] = False
    discovery_host: Annotated[
        str, Meta(description="Address on which to listen for these broadcasts. Empty: all addresses.")
    ] = ""
    discovery_port: Annotated[Port, Meta(description="UDP port of these broadcasts.")] = 20582

    @property
    def adds_stations(self) -> bool:
        """Whether consoles become stations by themselves."""
        return self.discovery


PART = Part(
    name="consoles",
    sections=[
        Section("stations", NetworkKeys, many=True, check="slpstream.parts.consoles.checks:check", sources=SOURCES),
        Section("relay", Relay, check="slpstream.parts.consoles.checks:check"),
        Section("recordings", RecordingLimits, applied_at_reload=True),
        Section("recordings", RecordingBuffer),
    ],
    start="slpstream.parts.consoles.stations:Consoles",
    alias="console",
    functions={"relayed_console": "slpstream.parts.consoles.relayed:relayed_console"},
    labels=("discovery", "relay", "retention"),
    metrics=[
        Row("slpstream_source_received_bytes_total", "counter", "Event bytes received from consoles.", ("station",)),
        Row("slpstream_source_reconnects_total", "counter", "Reconnections to consoles.", ("station",)),
        Row("slpstream_source_gaps_total", "counter", "Gaps in the events of consoles.", ("station",)),
        Row("slpstream_deleted_recordings_total", "counter", "Recordings deleted by their age and size limits."),
        Row("slpstream_deleted_recordings_bytes_total", "counter", "Total size of the deleted recordings."),
        Row("slpstream_unwritten_bytes", "gauge", "Received bytes that wait for the disk.", ("station",)),
        Row("slpstream_relay_clients", "gauge", "Clients of the station's relay ports.", ("station",)),
        Row(
            "slpstream_relay_resent_packets_total",
            "counter",
            "Packets that were sent again to clients of `relay_enet_port`, which had not acknowledged them in time.",
            ("station",),
        ),
    ],
)
