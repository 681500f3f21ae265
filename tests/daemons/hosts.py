"""A host for parts, without a daemon around it."""

from __future__ import annotations

from typing import Any

import msgspec
import trio

from slpstream.config import Config
from slpstream.daemon.running_parts import RunningParts
from slpstream.daemon.sets import StationSets
from slpstream.daemon.stations import RunningStations
from slpstream.parts import registry
from slpstream.parts.interface import Host
from slpstream.sets import Rules
from slpstream.stream.channel import Hub, OnAir
from slpstream.system.internal_errors import InternalErrors
from slpstream.web.access import Access


def host_of(config: Config, on_air: OnAir | None = None) -> Host:
    """A host with a configuration. It has no stations and no index."""
    on_air, metrics, errors = on_air or OnAir(), registry.metrics(), InternalErrors()
    hub = Hub(on_air)
    return Host(
        config,
        hub=hub,
        on_air=on_air,
        sets=StationSets(hub, Rules(), errors),
        stations=RunningStations(hub, errors),
        access=Access,
        metrics=metrics,
        errors=errors,
    )


def parts_of(config: Config) -> RunningParts:
    """The running parts of a configuration. Raises `ConfigError`."""
    return RunningParts(registry.parts(), host_of(config))


class FakeIndex:
    """Keeps remembered values like `GameIndex`, as JSON."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def remember(self, key: str, value: Any) -> None:
        self.kept[key] = msgspec.json.encode(value)

    async def remembered(self, key: str) -> Any:
        await trio.lowlevel.checkpoint()
        return msgspec.json.decode(self.kept[key]) if key in self.kept else None
