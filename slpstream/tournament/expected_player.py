"""A player who is expected at a station, as a bracket knows the next set."""

from __future__ import annotations

import msgspec


class ExpectedPlayer(msgspec.Struct, frozen=True):
    """One player. Unknown values are `None`."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None
    entrant_id: str | None = None
