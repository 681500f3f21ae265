"""Declares `[seats]`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from slpstream.config.sections import Positive, Section
from slpstream.model.prepared import prepared
from slpstream.parts.interface import Command, Page, Part
from slpstream.system.metric_row import Row


@prepared
class Seats(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[seats]`: players say on their phones who sits at which port."""

    on: Annotated[bool, Meta(description="Whether players can claim seats with the QR code of their station.")] = False
    address: Annotated[
        str,
        Meta(
            description="Address in the codes, such as `http://192.168.1.20:5151`: where phones reach this daemon or a "
            "proxy in front of it. Empty: the address of this machine in the local network."
        ),
    ] = ""
    typed_names: Annotated[
        bool, Meta(description="Let players type a name. Without it they can only tap one that is known.")
    ] = True
    free_minutes: Annotated[
        Positive, Meta(description="Free the seats of a station at which nothing has happened for this long.")
    ] = 30.0


PART = Part(
    name="seats",
    docs="howto/sets.md",
    sections=[Section("seats", Seats, check="slpstream.parts.seats.checks:check")],
    wanted=lambda config: config.section(Seats).on,
    start="slpstream.parts.seats.seats:DaemonSeats",
    metrics=[
        Row(
            "slpstream_seat_requests_total",
            "counter",
            "Requests of phones for seats, by outcome: done, taken (by another phone, or nothing can be done now), "
            "refused (a wrong token), limited (too many from one address), failed (it cannot be kept).",
            ("outcome",),
            known_values=("done", "taken", "refused", "limited", "failed"),
        ),
        Row("slpstream_claimed_seats", "gauge", "Seats that players have claimed on their phones.", ("station",)),
        Row("slpstream_seat_codes_kept", "gauge", "0 while the codes of seats would not survive a restart."),
    ],
    endpoints="slpstream.parts.seats.endpoints:endpoints",
    claim_paths=["/v1/seats/"],
    pages=[Page("/seat-codes", "seat_codes.html"), Page("/seats/{station}", "seats.html")],
    commands=[
        Command("seats", "Print the QR codes with which players claim seats.", "slpstream.parts.seats.cli:command")
    ],
)
