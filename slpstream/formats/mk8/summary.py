"""The neutral summary of a Mario Kart 8 ghost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from slpstream.model.events import GameEnd
from slpstream.model.prepared import prepared
from slpstream.model.summary import GameSummary, PlayerSummary, Thing, given


class _Named(msgspec.Struct):
    id: int
    name: str | None = None


class _Version(msgspec.Struct, rename="camel"):
    body: str
    game_name: str | None = None


class _Vehicle(msgspec.Struct):
    kart: _Named


class _Driver(msgspec.Struct):
    character: _Named


class _Player(msgspec.Struct):
    name: str


@prepared
class _Settings(msgspec.Struct, rename="camel"):
    """The part of `Mk8Settings` that the summary needs."""

    version: _Version
    track: _Named
    cc_class: int
    vehicle: _Vehicle
    player: _Player
    cc: int | None = None
    mirror: bool = False
    drivers: list[_Driver] = []
    recorded_at: str | None = None


def describe(settings: Any, end: GameEnd | None, metadata: Mapping[str, Any] | None) -> GameSummary:
    """Summarise a ghost; see `slpstream.formats.interface.Describe`. One player drives alone, so there is no winner."""
    ghost = msgspec.convert(settings, _Settings)
    kart = ghost.vehicle.kart
    driver = ghost.drivers[0].character if ghost.drivers else None
    character = "" if driver is None else f"{driver.name or driver.id} in "
    engine = f"{ghost.cc} cc" if ghost.cc else f"class {ghost.cc_class}"
    return GameSummary(
        version=ghost.version.game_name or ghost.version.body,
        place=_thing("track", ghost.track),
        rules=f"{engine}, mirrored" if ghost.mirror else engine,
        players=[PlayerSummary(index=0, name=ghost.player.name)],
        who=f"{ghost.player.name}: {character}{_thing('kart', kart).text}",
        started_at=ghost.recorded_at or "",
        setup=given(settings, "track", "mode", "cc", "mirror", "kind"),
    )


def _thing(kind: str, named: _Named) -> Thing:
    return Thing(kind=kind, id=named.id, name=named.name or "")
