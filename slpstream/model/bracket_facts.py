"""The facts that a bracket provides about stations and their sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec


class ExpectedPlayer(msgspec.Struct, frozen=True):
    """A player of the next set of a station, by the bracket. Unknown values are `None`."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None
    entrant_id: str | None = None


class SetContext(NamedTuple):
    """The facts of a bracket about a played set, for the recipients of its replays."""

    members: Mapping[str, Mapping[str, Any]] = {}
    """The members of `context.json` that the bracket adds, such as `startgg`."""
    swapped: bool = False
    """Whether the first side of the played set is the bracket's second entrant."""
