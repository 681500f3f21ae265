"""The stations that are running: they come, go and change, each in a nursery of its own, and none disturbs another.

Three parties say which there are: the configuration, the subfolders of an entry `*`, and the discovery of consoles.
Each speaks for its own stations alone (`Origin`); an id belongs to one of them at a time, and the configuration wins.

Who wants to know of stations, to keep sets or to serve them again, listens: `on_added` is called before the first event
of a station, `on_removed` after its last one; one whose source changes is removed and added. What runs beside a station
and ends with it is started in `RunningStation.nursery`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec
import structlog
import trio

from slpstream.config import StationConfig
from slpstream.daemon.station.station import Station
from slpstream.stream import Hub
from slpstream.system.logs import get_logger

Origin = Literal["configured", "subfolder", "discovered"]
"""Who speaks for a station."""


class Listener(Protocol):
    """Who wants to know of stations; both return at once."""

    def on_added(self, running: RunningStation) -> None:
        """A station is about to run."""

    def on_removed(self, running: RunningStation) -> None:
        """A station has ended. At the end of the daemon nobody is told."""


class RunningStation:
    """A station with its tasks."""

    def __init__(self, config: StationConfig, origin: Origin, station: Station, nursery: trio.Nursery) -> None:
        self.config = config
        self.origin = origin
        self.station = station
        self.nursery = nursery
        """For what runs beside the station, and ends with it."""
        self.ended = trio.Event()


class _Parts(NamedTuple):
    nursery: trio.Nursery
    make: Callable[[StationConfig], Station]
    release: Callable[[Station], None]


class RunningStations(Mapping[str, RunningStation]):
    """All stations of a daemon by their ids. `run` it once; stations can be added as soon as that has started."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._parts: _Parts | None = None
        self._listeners: list[Listener] = []
        self._running: dict[str, RunningStation] = {}
        self._changing = trio.Lock()
        self._log = get_logger()

    def __getitem__(self, station: str) -> RunningStation:
        return self._running[station]

    def __iter__(self) -> Iterator[str]:
        return iter(self._running)

    def __len__(self) -> int:
        return len(self._running)

    @property
    def stations(self) -> list[Station]:
        """As of now; asked from any thread."""
        return [running.station for running in list(self._running.values())]

    def listen(self, listener: Listener) -> None:
        """From now on `listener` is told; of the stations that run already at once."""
        self._listeners.append(listener)
        for running in self._running.values():
            listener.on_added(running)

    async def run(
        self,
        make: Callable[[StationConfig], Station],
        release: Callable[[Station], None],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Until cancelled. `make` makes a station that does not run yet; `release`, called in a worker thread when one
        has ended, gives back what `make` took."""
        async with trio.open_nursery() as nursery:
            self._parts = _Parts(nursery, make, release)
            task_status.started()
            await trio.sleep_forever()

    # -- changing -----------------------------------------------------------------------------------------------------

    async def add(self, config: StationConfig, origin: Origin = "discovered") -> bool:
        """Starts a station. False, and nothing happens, when its id is taken by one that goes before."""
        async with self._changing:
            return await self._add(config, origin)

    async def remove(self, station: str, reason: str = "removed") -> None:
        """Ends a station, and returns when it has ended. Of one that does not run nothing happens."""
        async with self._changing:
            if station in self._running:
                await self._end(self._running[station], reason)

    async def apply(self, wanted: Sequence[StationConfig], origin: Origin) -> None:
        """Makes the stations of one origin those that are wanted. Those that are the same are not touched."""
        async with self._changing:
            by_id = {config.id: config for config in wanted}
            for running in list(self._running.values()):
                if running.origin == origin and running.config.id not in by_id:
                    await self._end(running, "removed")
            for config in wanted:
                known = self._running.get(config.id)
                if known is None or known.origin != origin:
                    await self._add(config, origin)
                elif known.config != config:
                    await self._change(known, config)

    @property
    def _started(self) -> _Parts:
        if self._parts is None:
            raise RuntimeError("stations come and go while `run` runs")
        return self._parts

    # -- one station --------------------------------------------------------------------------------------------------

    async def _add(self, config: StationConfig, origin: Origin) -> bool:
        known = self._running.get(config.id)
        if known is not None:
            if origin != "configured" or known.origin == "configured":
                return False
            await self._end(known, "the configuration has another one of this id")
        await self._begin(config, origin)
        return True

    async def _begin(self, config: StationConfig, origin: Origin) -> None:
        running: RunningStation = await self._started.nursery.start(self._run, config, origin)
        self._log.info("station added", station=config.id, name=running.station.name, origin=origin)

    async def _change(self, running: RunningStation, config: StationConfig) -> None:
        """Another name is only said; for another source the station begins again. Who named it stays connected."""
        if config == msgspec.structs.replace(running.config, name=config.name):
            running.config = config
            running.station.name = config.name or config.id
            self._log.info("station renamed", station=config.id, name=running.station.name)
            return
        await self._end(running, "changed", replaced=True)
        await self._begin(config, running.origin)

    async def _end(self, running: RunningStation, reason: str, *, replaced: bool = False) -> None:
        """`replaced`: another one of this id follows at once, and its subscribers wait for it."""
        station = running.station
        station.leave(reason)
        if not replaced:
            del self._running[station.id]
            self._hub.remove(station.channel)
        running.nursery.cancel_scope.cancel()
        await running.ended.wait()
        await trio.to_thread.run_sync(self._started.release, station)
        for listener in self._listeners:
            listener.on_removed(running)
        self._log.info("station ended", station=station.id, reason=reason)

    async def _run(
        self,
        config: StationConfig,
        origin: Origin,
        *,
        task_status: trio.TaskStatus[RunningStation] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        station = self._started.make(config)
        async with trio.open_nursery() as nursery:
            running = RunningStation(config, origin, station, nursery)
            self._running[config.id] = running
            self._hub.add(station.channel)
            with structlog.contextvars.bound_contextvars(station=config.id):
                for listener in self._listeners:
                    listener.on_added(running)
                nursery.start_soon(station.run)
            task_status.started(running)
        running.ended.set()
