"""Makes, opens and runs the parts of a daemon, and passes events on to them.

A bug in one part doesn't affect the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pkgutil import resolve_name
from typing import Any, NamedTuple

import trio

from slpstream.config import Config, StationConfig
from slpstream.daemon.stations import RunningStation
from slpstream.model.messages import Cursor
from slpstream.parts.interface import Host, Part, RunningPart
from slpstream.stream.channel import Channel, Send
from slpstream.stream.subscription import Start


class _Running(NamedTuple):
    """A running part, with its name in metrics and logs."""

    label: str
    part: RunningPart


class RunningParts:
    """The parts that a configuration asks for."""

    def __init__(self, declared: Sequence[Part], host: Host) -> None:
        """Make the running parts. Raises `ConfigError` if one of them can't work on this machine."""
        host.parts = self
        self._errors = host.errors
        self._running: dict[str, _Running] = {}
        for part in declared:
            if part.start and part.wanted(host.config):
                running = self._running[part.name] = _Running(part.label, resolve_name(part.start)(host))
                for message in part.messages:
                    host.hub.sources[message.type] = partial(self._send_messages, running, message.type)

    @property
    def by_name(self) -> Mapping[str, RunningPart]:
        """The running parts by the names of their declarations."""
        return {name: running.part for name, running in self._running.items()}

    def open(self) -> None:
        """Open all parts. This blocks, and raises `ConfigError` if one of them can't be opened."""
        for running in self._running.values():
            running.part.open()

    def close(self) -> None:
        """Close all parts in reverse order. This blocks."""
        for running in reversed(self._running.values()):
            with self._errors.contain(running.label):
                running.part.close()

    async def run(self) -> None:
        """Run all parts until cancelled."""
        async with trio.open_nursery() as nursery:
            for running in self._running.values():
                nursery.start_soon(self._errors.keep_running, running.label, running.part.run)

    async def stations_configured(self, stations: Sequence[StationConfig]) -> None:
        """Tell all parts which stations are configured, before these are started, changed or ended."""
        for label, part in self._running.values():
            with self._errors.contain(label):
                await part.stations_configured(stations)

    def station_starts(self, running: RunningStation) -> None:
        """Tell all parts about a station that is about to run."""
        self._tell(lambda part: part.station_starts(running), station=running.station.id)

    async def follow(self, channel: Channel) -> None:
        """Let all parts follow a station until cancelled. Start this once for each station."""
        async with trio.open_nursery() as nursery:
            for label, part in self._running.values():
                follow = partial(part.follow, channel)
                nursery.start_soon(partial(self._errors.keep_running, label, follow, station=channel.station))

    async def _send_messages(
        self, running: _Running, kind: str, channel: Channel, start: Start | Cursor, send: Send
    ) -> None:
        with self._errors.contain(running.label, station=channel.station):
            await running.part.send_messages(kind, channel, start, send)

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Tell all parts that the set of the given station has changed. `payload` is that of its `set` message."""
        self._tell(lambda part: part.set_changed(station, payload), station=station)

    def games_changed(self, station: str | None) -> None:
        """Tell all parts that the index has other games of the given station, or of any station (`None`)."""
        self._tell(lambda part: part.games_changed(station))

    async def situation_found(self, station: str, payload: Mapping[str, Any]) -> None:
        """Tell all parts about a situation, and return when they have stored it."""
        for label, part in self._running.values():
            with self._errors.contain(label, station=station):
                await part.situation_found(station, payload)

    def situation_seen(self, station: str, payload: Mapping[str, Any]) -> None:
        """Tell all parts about a situation in a game that is being played."""
        self._tell(lambda part: part.situation_seen(station, payload), station=station)

    def index_lost(self) -> None:
        """Tell all parts that the index has lost its games."""
        self._tell(lambda part: part.index_lost())

    def configure(self, config: Config) -> None:
        """Pass a configuration that was reloaded to all parts."""
        self._tell(lambda part: part.configure(config))

    def not_ready(self) -> list[str]:
        """Return the reasons why parts aren't able to do their work."""
        found: list[str] = []
        self._tell(lambda part: found.extend(part.not_ready()))
        return found

    def _tell(self, tell: Callable[[RunningPart], None], **about: Any) -> None:
        """Call the given function with each part.

        If there is a bug in one of them, it is logged with `about`, and the next part is called.
        """
        for label, part in self._running.values():
            with self._errors.contain(label, **about):
                tell(part)
