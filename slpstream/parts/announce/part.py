"""Declares `[announce]`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Section
from slpstream.parts.interface import Part


class Announce(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[announce]`: being found by other programs on the local network."""

    dns_sd: Annotated[
        bool,
        Meta(
            description="Announce the daemon as `_slpstream._tcp` (DNS-SD, Bonjour) on the addresses of `server.host`. "
            "Needs the extra `announce`."
        ),
    ] = False
    name: Annotated[
        str, Meta(max_length=60, description="Name in that announcement. Empty: slpstream and the name of the machine.")
    ] = ""
    relayed_station: Annotated[
        bool,
        Meta(
            description="Announce the station with `relay_port = 51441` by broadcast as a console, from the address "
            "`relay.host`, so that launchers list it."
        ),
    ] = False
    broadcast_host: Annotated[str, Meta(min_length=1, description="Address to broadcast to.")] = "255.255.255.255"
    broadcast_port: Annotated[
        int, Meta(ge=1, le=65535, description="UDP port to broadcast to, on which launchers listen.")
    ] = 20582


PART = Part(
    name="announce",
    docs="howto/consoles.md",
    sections=[Section("announce", Announce, check="slpstream.parts.announce.checks:check")],
    wanted=lambda config: config.section(Announce).dns_sd or config.section(Announce).relayed_station,
    start="slpstream.parts.announce.configured:Announcements",
)
