"""Looks at the stations of the director twice a second, and remembers the choice for the next start."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import trio
from msgspec import Meta

from slpstream.model.messages import Cursor, timestamp
from slpstream.model.prepared import prepared
from slpstream.parts.director.decision import Choice, Tile, decided, reason
from slpstream.parts.director.part import Director
from slpstream.parts.director.tiles import OddsPoint, tile_of
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import OnAirChoice
from slpstream.stream.channel import Channel, Send
from slpstream.stream.subscription import Start
from slpstream.system.changing import Changing
from slpstream.system.logs import get_logger
from slpstream.web.schemas import Moment, Schema

_KEY = "director"
_LOOK_SECONDS = 0.5
_MAX_POINTS = 64
"""More than the odds of ten seconds, which are sent twice a second and at each lost stock."""


@prepared
class _Remembered(msgspec.Struct, frozen=True):
    """The part of the state that survives a restart."""

    station: str | None = None
    since: float | None = None
    """Unix time."""
    pinned: str | None = None


class DirectorState(Schema, kw_only=True):
    """The choice of the director."""

    stations: Annotated[Sequence[str], Meta(description="The configured stations; empty without a director.")] = ()
    station: Annotated[
        str | None, Meta(description="Id of the station that is large; null until a game is played.")
    ] = None
    since: Annotated[Moment | None, Meta(description="Since when it is large.")] = None
    reason: Annotated[str, Meta(description="Why, in words.")] = ""
    pinned: Annotated[str | None, Meta(description="The station that the operator has pinned.")] = None
    hold_seconds: float = 0.0


class SentChoice(Schema, kw_only=True):
    """The director's choice, as the messages of a station have it."""

    chosen: Annotated[bool, Meta(description="Whether the director shows this station large.")]
    pinned: Annotated[bool, Meta(description="Whether the operator has pinned it.")]


class Directing(RunningPart):
    """The director of one daemon."""

    def __init__(self, host: Host, *, wall_clock: Callable[[], float] = time.time) -> None:
        self._host = host
        self._config = host.config.section(Director)
        self._wall_clock = wall_clock
        self._choice = Choice()
        self._since: float | None = None
        self._pinned: str | None = None
        self._tiles: dict[str, Tile] = {}
        self._odds: dict[str, deque[OddsPoint]] = {}
        self._loaded = trio.Event()
        self._decision = Changing()
        self._log = get_logger()

    async def run(self) -> None:
        """Decide twice a second until cancelled."""
        if not self._loaded.is_set():
            self._load(await self._host.index.remembered(_KEY))
        while True:
            await self._decide()
            await trio.sleep(_LOOK_SECONDS)

    async def follow(self, channel: Channel) -> None:
        """Keep the newest odds of a station, if the daemon computes odds."""
        source = self._host.hub.sources.get("odds")
        if source is None or channel.station not in self._config.stations:
            return
        points = self._odds[channel.station] = deque(maxlen=_MAX_POINTS)

        async def take(payload: Mapping[str, Any]) -> None:
            await trio.lowlevel.checkpoint()
            points.append(OddsPoint(payload["gameId"], payload["frame"], payload["odds"]))

        try:
            await source(channel, "start", take)
        finally:
            del self._odds[channel.station]

    async def send_messages(self, kind: str, channel: Channel, start: Start | Cursor, send: Send) -> None:
        """Send whether the station is chosen, and each change."""
        await self._loaded.wait()
        sent = None
        while True:
            station = channel.station
            choice = SentChoice(chosen=station == self._choice.station, pinned=station == self._pinned)
            if choice != sent:
                sent = choice
                await send(msgspec.to_builtins(choice))
            else:
                await self._decision.changed()

    async def pin(self, station: str | None) -> bool:
        """Show a station until it's released with `None`. Returns whether it is one of the director's stations."""
        await self._loaded.wait()
        if station is not None and station not in self._config.stations:
            return False
        if station != self._pinned:
            self._pinned = station
            self._keep()
        await self._decide()
        return True

    def state(self) -> DirectorState:
        """Return the choice."""
        station = self._choice.station
        return DirectorState(
            stations=self._config.stations,
            station=station,
            since=None if self._since is None else timestamp(self._since),
            reason=reason(self._tiles.get(station or ""), pinned=self._pinned is not None),
            pinned=self._pinned,
            hold_seconds=self._config.hold_seconds,
        )

    def _load(self, remembered: Any) -> None:
        try:
            state = msgspec.convert(remembered, _Remembered) if remembered is not None else _Remembered()
        except msgspec.ValidationError as error:
            self._log.warning("the director's choice of the last run is not known", what=str(error))
            state = _Remembered()
        stations = self._config.stations
        if state.station in stations:
            self._choice, self._since = Choice(state.station), state.since
        self._pinned = state.pinned if state.pinned in stations else None
        # Stations appear one after the other, so the first one to play is not the tensest one.
        self._choice = self._choice._replace(held_until=trio.current_time() + self._config.hold_seconds)
        self._loaded.set()

    def _keep(self) -> None:
        self._host.index.remember(_KEY, _Remembered(self._choice.station, self._since, self._pinned))
        self._decision.notify()

    async def _decide(self) -> None:
        channels = self._host.hub.channels
        self._tiles = {
            name: tile_of(name, channels.get(name), self._odds.get(name, ())) for name in self._config.stations
        }
        before, tiles = self._choice.station, list(self._tiles.values())
        self._choice = decided(tiles, self._choice, self._pinned, trio.current_time(), self._config.hold_seconds)
        station = self._choice.station
        if station == before:
            await trio.lowlevel.checkpoint()
            return
        self._since = self._wall_clock()
        self._keep()
        self._log.info("the director shows another station", station=station, why=self.state().reason)
        on_air = self._host.find(OnAirChoice)
        if self._config.on_air and on_air is not None:
            await on_air.choose_station(station)
