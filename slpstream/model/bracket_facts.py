"""The facts that a bracket can provide about stations and the sets that are played on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec


class ExpectedPlayer(msgspec.Struct, frozen=True):
    """A player who, according to the bracket, plays in the next set of a station.

    Values that the bracket doesn't know are `None`.
    """

    name: str
    sponsor: str | None = None
    pronouns: str | None = None
    entrant_id: str | None = None


class SetContext(NamedTuple):
    """The bracket's knowledge about a set that was played, which is passed on to whoever receives its replays."""

    members: Mapping[str, Mapping[str, Any]] = {}
    """The members of `context.json` that the bracket adds, such as `startgg`."""
    swapped: bool = False
    """Whether the first side of the played set is the bracket's second entrant."""
