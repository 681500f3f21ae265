"""Declares consoles: stations that are recorded (`console`, `dolphin`), the discovery of consoles, and relay ports."""

from __future__ import annotations

from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row

PART = Part(
    name="consoles",
    start="slpstream.parts.consoles.stations:Consoles",
    alias="console",
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
