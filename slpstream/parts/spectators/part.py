"""Declares the protocol of Dolphin's spectator server: `dolphin` and `relay_enet_port` of `[[stations]]`."""

from __future__ import annotations

from slpstream.parts.interface import Part
from slpstream.system.metric_row import Row

PART = Part(
    name="spectators",
    start="slpstream.parts.spectators.stations:SpectatedStations",
    alias="relay",
    metrics=[
        Row(
            "slpstream_relay_resent_packets_total",
            "counter",
            "Packets that were sent again to clients of `relay_enet_port`, which had not acknowledged them in time.",
            ("station",),
        ),
    ],
)
