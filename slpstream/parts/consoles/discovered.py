"""Discovered consoles. Each console that calls by broadcast gets a station.

Calls aren't authenticated, so any machine on the network can send them under any name. This is why the number of
stations is limited. A console that has answered keeps its station. Any other console loses it when it stops calling. If
all places are taken, it can also lose it to another console that calls.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import trio

from slpstream.config import StationConfig, address
from slpstream.model.messages import ON_AIR
from slpstream.parts.consoles import discovery, wire
from slpstream.parts.consoles.part import NetworkKeys, Relay
from slpstream.system.logs import get_logger

_CALL_SECONDS = 60.0
"""If a console calls several times within this time, only the first call counts."""
_MAX_CALLERS = 1024
_MAX_DISCOVERED = 64
_SILENT_SECONDS = 180.0
"""If a discovered console neither answers nor calls for this long, it loses its station."""
_GRACE_SECONDS = 10.0
"""If all places are taken, a console that calls gets the place of one that hasn't answered for this long."""
_EXPIRY_SECONDS = 5.0


class Registry(NamedTuple):
    """Gives access to the stations of a daemon."""

    known: Callable[[], Iterable[StationConfig]]
    """Returns the stations that exist now."""
    discovered: Callable[[], Iterable[str]]
    """Returns the ids of those stations that were added by discovery."""
    answered: Callable[[], Collection[str]]
    """Returns the ids of those stations whose console has answered."""
    add: Callable[[StationConfig], Awaitable[object]]
    remove: Callable[[str, str], Awaitable[object]]
    """Removes a station by its id, for the given reason."""


class ConsoleDiscovery:
    """The discovered consoles of one daemon."""

    def __init__(self, relay: Relay, registry: Registry) -> None:
        self._relay = relay
        self._registry = registry
        self._last_calls: dict[str, float] = {}
        """When each console last called, by MAC address."""
        self._heard_at: dict[str, float] = {}
        """When we last heard from the console of each discovered station."""
        self._added_at: dict[str, float] = {}
        self._full = False
        self._log = get_logger()

    async def run(self) -> None:
        """Add and remove stations until cancelled.

        If discovery is off or its port can't be opened, this just returns.
        """
        if not self._relay.discovery:
            return
        host, port = self._relay.discovery_host, self._relay.discovery_port
        try:
            socket = await discovery.hear(host, port)
        except OSError as error:
            self._log.error("cannot listen for consoles", host=host, port=port, what=str(error))
            return
        with socket:
            while True:
                call = None
                with trio.move_on_after(_EXPIRY_SECONDS):
                    call = await discovery.next_call(socket)
                now = trio.current_time()
                await self._expire(now)
                if call is not None and self._is_first(call, now):
                    await self._answer(call, now)

    async def _expire(self, now: float) -> None:
        """Remove the stations of those consoles that neither answer nor call."""
        present = set(self._registry.discovered())
        for times in (self._heard_at, self._added_at):
            for station_id in times.keys() - present:
                del times[station_id]
            for station_id in present - times.keys():
                times[station_id] = now  # added before a bug ended this task
        for station_id in self._unanswered():
            if now - self._heard_at[station_id] > _SILENT_SECONDS:
                await self._registry.remove(station_id, "its console neither answers nor calls")

    def _unanswered(self) -> list[str]:
        """Return the discovered stations whose console hasn't answered, in the order in which they were added."""
        unanswered = set(self._registry.discovered()) - set(self._registry.answered())
        return sorted(unanswered & self._added_at.keys(), key=self._added_at.__getitem__)

    def _is_first(self, call: discovery.Call, now: float) -> bool:
        """Whether the console hasn't called for a while. If so, this records the call."""
        if now - self._last_calls.get(call.mac, -_CALL_SECONDS) < _CALL_SECONDS:
            return False
        if len(self._last_calls) >= _MAX_CALLERS:
            self._last_calls.clear()
        self._last_calls[call.mac] = now
        return True

    async def _answer(self, call: discovery.Call, now: float) -> None:
        """Add a station for a console that calls, unless it already has one or there is no place."""
        stations = list(self._registry.known())
        if call.mac in {discovery.own_mac(station.id) for station in stations if station.keys(NetworkKeys).relay_port}:
            return  # a station of this machine, which is announced as a console
        of_console = (station.id for station in stations if station.keys(NetworkKeys).console == call.host)
        heard = [station for station in of_console if station in self._heard_at]
        self._heard_at |= dict.fromkeys(heard, now)
        if call.host in await _hosts_of(stations):
            return
        if not await self._make_room(now):
            del self._last_calls[call.mac]  # its next call counts
            return
        wanted = station_of(call, {station.id for station in self._registry.known()})
        self._heard_at[wanted.id] = self._added_at[wanted.id] = now
        self._log.info("console discovered", nick=call.nick, host=call.host, mac=call.mac, station=wanted.id)
        await self._registry.add(wanted)

    async def _make_room(self, now: float) -> bool:
        """Whether there is a place for another station.

        If necessary, this takes the place of a console that doesn't answer.
        """
        was_full, self._full = self._full, len(set(self._registry.discovered())) >= _MAX_DISCOVERED
        if not self._full:
            return True
        if not was_full:
            self._log.warning("too many discovered consoles; one that has not answered makes room", max=_MAX_DISCOVERED)
        oldest = next(iter(self._unanswered()), None)
        if oldest is None or now - self._added_at[oldest] < _GRACE_SECONDS:
            return False
        await self._registry.remove(oldest, "its console does not answer, and another one calls")
        return True


def station_of(call: discovery.Call, taken: Iterable[str]) -> StationConfig:
    """Return the station for a console that has called.

    It is named after the console, with `-2`, `-3` and so on if this name is taken.
    """
    names = set(taken)
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", call.nick).strip("-._")[:60] or f"wii-{call.mac.replace(':', '')[-6:]}"
    name, count = base, 1
    while name in names or name == ON_AIR:
        count += 1
        name = f"{base}-{count}"
    return StationConfig(id=name, name=call.nick, parts=(NetworkKeys(console=call.host),))


async def same_consoles(configured: Sequence[StationConfig], discovered: Sequence[StationConfig]) -> list[str]:
    """Return the ids of those discovered stations whose consoles are also in the configuration."""
    if not discovered:
        return []
    hosts = await _hosts_of(configured)
    return [station.id for station in discovered if station.keys(NetworkKeys).console in hosts]


async def _hosts_of(stations: Iterable[StationConfig]) -> set[str]:
    """Return the names and addresses of all consoles that have a station."""
    hosts: set[str] = set()
    for station in stations:
        console = station.keys(NetworkKeys).console
        if console:
            host, port = address(console, wire.PORT)
            hosts.add(host)
            try:
                found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
            except OSError:
                continue
            hosts |= {str(sockaddr[0]) for *_, sockaddr in found}
    return hosts
