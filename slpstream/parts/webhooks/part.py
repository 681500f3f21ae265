"""Declares `[[webhooks]]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.config.sections import Positive, Secret, Section
from slpstream.parts.interface import Part


class Webhook(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`[[webhooks]]`: a web server that is notified of events."""

    url: Annotated[Secret, Meta(description="URL that deliveries are posted to, http or https.")]
    secret_file: Annotated[
        Secret, Meta(description="File whose first line is the key that signs deliveries (HMAC-SHA256).")
    ]
    stations: Annotated[list[str], Meta(description="Stations to include. Empty: all.")] = []
    events: Annotated[
        list[Literal["game_start", "game_end", "set", "situation"]], Meta(description="Events to deliver. Empty: all.")
    ] = []
    timeout_seconds: Annotated[Positive, Meta(description="Time limit for an answer.")] = 10.0
    keep_hours: Annotated[
        Positive, Meta(description="Give up a delivery that has not been accepted after this long.")
    ] = 72.0


PART = Part(
    name="webhooks",
    sections=[Section("webhooks", Webhook, many=True, check="slpstream.parts.webhooks.checks:check")],
    wanted=lambda config: bool(config.sections(Webhook)),
    start="slpstream.parts.webhooks.webhooks:Webhooks",
    alias="webhook",
)
