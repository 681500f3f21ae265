"""A player whom the bracket expects at a station."""

from __future__ import annotations

import msgspec


class ExpectedPlayer(msgspec.Struct, frozen=True):
    """A player whom the bracket expects at a station."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None
    entrant_id: str | None = None
