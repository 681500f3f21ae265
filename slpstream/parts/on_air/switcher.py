"""Puts stations on air in the hub, and remembers the choice for the next start.

The result is in the hub's `OnAir`. Everything follows this: subscriptions of `on-air`, pages and outputs. Without the
rule, the task here waits until something changes. With the rule, it looks at the games once a second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
import trio
from msgspec import Meta

from slpstream.config import Config
from slpstream.model.messages import timestamp
from slpstream.model.prepared import prepared
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.on_air.part import OnAir
from slpstream.parts.services import OnAirChoice
from slpstream.stream.channel import ChosenBy
from slpstream.system.logs import get_logger
from slpstream.web.schemas import Moment, Schema

_KEY = "on_air"
_LOOK_SECONDS = 1.0
_MIN_PAUSE_SECONDS = 0.05


class _Choice(msgspec.Struct, frozen=True):
    """The choice of the operator."""

    station: str
    at: float


@prepared
class _Remembered(msgspec.Struct):
    """The part of the state that survives a restart. All times are Unix times."""

    choice: _Choice | None = None
    shown: str | None = None
    """The station on air. A restart alone is no reason for the rule to leave it."""
    seen: dict[str, float] = {}
    """When each station was on air last."""


class StationOnAir(Schema, kw_only=True):
    """The station on air."""

    station: Annotated[str | None, Meta(description="Its id; null while no station is on air.")]
    by: Annotated[
        Literal["operator", "rule"] | None, Meta(description="Who has chosen it; null while no station is on air.")
    ]
    since: Annotated[
        Moment | None,
        Meta(description="When it went on air, or when the last one left; null if no station ever was on air."),
    ]
    rule: Annotated[bool, Meta(description="Whether the rule chooses while the operator has chosen no station.")]
    until: Annotated[
        Moment | None, Meta(description="When the operator's choice ends; null if it does not end by itself.")
    ]


class Switcher(RunningPart):
    """Chooses the station on air of one daemon."""

    def __init__(self, host: Host, *, wall_clock: Callable[[], float] = time.time) -> None:
        host.provide(OnAirChoice, self)
        self._host = host
        self._hub = host.hub
        self._on_air = host.on_air
        self._config = host.config.section(OnAir)
        self._wall_clock = wall_clock
        self._state = _Remembered()
        self._loaded = trio.Event()
        self._wake = trio.Event()
        self._switched_at = -math.inf
        """This and everything up to `_ended_at` are times of the event loop."""
        self._ended_at = -math.inf
        self._was_playing = False
        self._log = get_logger()

    def configure(self, config: Config) -> None:
        """Use another configuration from now on."""
        self._config = config.section(OnAir)
        self._wake.set()

    async def run(self) -> None:
        """Keep the station on air up to date until cancelled."""
        if not self._loaded.is_set():
            self._load(await self._host.index.remembered(_KEY))
            self._switched_at = trio.current_time()  # stations appear one after the other
            self._loaded.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_stations)
            while True:
                self._wake = trio.Event()
                self._decide()
                with trio.move_on_after(self._pause_seconds()):
                    await self._wake.wait()

    async def choose_station(self, station: str | None) -> bool:
        """Put a station on air for the operator, or withdraw this choice with `None`.

        Returns whether there is such a station.
        """
        await self._loaded.wait()
        if station is not None and station not in self._hub.channels:
            return False
        self._state.choice = None if station is None else _Choice(station, self._wall_clock())
        if station is None:
            self._switched_at = -math.inf  # the rule can act immediately
        self._keep()
        self._decide()
        self._wake.set()
        return True

    def describe(self) -> StationOnAir:
        """Return the station on air."""
        on_air, choice, hold = self._on_air, self._state.choice, self._config.operator_seconds
        return StationOnAir(
            station=on_air.station_id,
            by=on_air.chosen_by,
            since=None if on_air.since is None else timestamp(on_air.since),
            rule=self.has_rule,
            until=None if choice is None or not hold else timestamp(choice.at + hold),
        )

    @property
    def has_rule(self) -> bool:
        """Whether a rule chooses the station while the operator has chosen none."""
        return self._config.choose == "rule"

    def _load(self, remembered: Any) -> None:
        try:
            self._state = msgspec.convert(remembered, _Remembered) if remembered is not None else _Remembered()
        except msgspec.ValidationError as error:
            self._log.warning("the station on air of the last run is not known", what=str(error))

    def _keep(self) -> None:
        self._host.index.remember(_KEY, self._state)

    async def _watch_stations(self) -> None:
        while True:
            await self._hub.changed()
            self._wake.set()

    def _pause_seconds(self) -> float:
        choice, hold = self._state.choice, self._config.operator_seconds
        if self.has_rule and self._on_air.chosen_by != "operator":
            return _LOOK_SECONDS
        return (
            max(_MIN_PAUSE_SECONDS, choice.at + hold - self._wall_clock()) if choice is not None and hold else math.inf
        )

    def _decide(self) -> None:
        choice, hold = self._state.choice, self._config.operator_seconds
        if choice is not None and hold and self._wall_clock() - choice.at >= hold:
            self._log.info("the operator's choice of the station on air is over", station=choice.station)
            choice = self._state.choice = None
            self._keep()
        if choice is not None and choice.station in self._hub.channels:
            self._put(choice.station, "operator")
        elif self.has_rule:
            station = self._chosen_by_rule()
            self._put(station, None if station is None else "rule")
        else:
            self._put(None, None)

    def _chosen_by_rule(self) -> str | None:
        from slpstream.parts.on_air import rule  # noqa: PLC0415 -- few daemons use the rule

        channels, is_temporary = self._hub.channels, self._host.stations.is_temporary
        found = [rule.candidate_of(channel) for name, channel in channels.items() if not is_temporary(name)]
        candidates = [candidate for candidate in found if candidate is not None]
        shown = self._on_air.station_id
        if shown is not None and shown not in channels:  # it was removed, and has no result to show
            shown, self._state.shown = None, None
            self._switched_at = self._ended_at = -math.inf
            self._was_playing = False
        shown = shown or self._state.shown
        is_playing = any(candidate.station == shown for candidate in candidates)
        now = trio.current_time()
        if self._was_playing and not is_playing:
            self._ended_at = now
        self._was_playing = is_playing
        if shown is not None and (
            now < self._switched_at + self._config.min_seconds or now < self._ended_at + self._config.result_seconds
        ):
            station: str | None = shown
        else:
            station = rule.chosen(candidates, shown, self._state.seen)
        return station if station in channels else None

    def _put(self, station: str | None, by: ChosenBy | None) -> None:
        before, now = self._on_air.station_id, self._wall_clock()
        if not self._hub.put_on_air(station, by, now):
            return
        if station == before:
            return
        self._log.info("on air", station=station, by=by)
        for name in (before, station):
            if name is not None:
                self._state.seen[name] = now
        self._state.seen = {name: at for name, at in self._state.seen.items() if name in self._hub.channels}
        if by is not None:
            self._state.shown = station
            self._switched_at = trio.current_time()
            self._was_playing, self._ended_at = False, -math.inf
            self._host.metrics.counter("slpstream_on_air_switches_total", by).inc()
        self._keep()
