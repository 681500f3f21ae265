"""The running stations. Each has its own nursery, so that it can start, end or change without disturbing the others.

A station has one of four origins: an entry of the configuration, a subfolder of a `*` entry, the discovery of consoles,
or a part that needs a station for a moment. Each origin only adds and removes its own stations. Ids are unique. If a
configured station has the same id as a station of another origin, it replaces that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import structlog
import trio

from slpstream.config import StationConfig
from slpstream.stream.channel import Hub
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.station import Station

Origin = Literal["configured", "subfolder", "discovered", "temporary"]
"""Where a station comes from.

A `temporary` station, such as that of the demo, is shown but leaves no trace: its games aren't indexed, counted in
sets, announced or sent to outputs.
"""


class RunningStation:
    """A station, together with the nursery in which its tasks run."""

    def __init__(
        self, config: StationConfig, origin: Origin, station: Station, nursery: trio.Nursery, ended: trio.Event
    ) -> None:
        self.config = config
        self.origin = origin
        self.station = station
        self.nursery = nursery
        """Runs the station, and the companion tasks that end with it."""
        self.ended = ended

    @property
    def is_temporary(self) -> bool:
        """Whether the games of the station leave no trace."""
        return self.origin == "temporary"


class _Hooks(NamedTuple):
    """The nursery and the arguments of `RunningStations.run`."""

    nursery: trio.Nursery
    make: Callable[[StationConfig, Origin], Station]
    start_companions: Callable[[RunningStation], None]
    release: Callable[[Station], None]


class RunningStations(Mapping[str, RunningStation]):
    """The running stations of a daemon, by id. Call `run` once. After it has started, you can add stations."""

    def __init__(self, hub: Hub, errors: InternalErrors | None = None) -> None:
        self._hub = hub
        self._errors = errors or InternalErrors()
        self._hooks: _Hooks | None = None
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
        """The current stations. You can read this from any thread."""
        return [running.station for running in list(self._running.values())]

    @property
    def lasting_stations(self) -> list[Station]:
        """The current stations, except for the temporary ones. You can read this from any thread."""
        return [running.station for running in list(self._running.values()) if not running.is_temporary]

    def is_temporary(self, station: str) -> bool:
        """Whether a station with this id is running and is temporary."""
        running = self._running.get(station)
        return running is not None and running.is_temporary

    def discovered(self) -> list[str]:
        """Return the ids of the stations of consoles that have announced themselves."""
        return [name for name, running in list(self._running.items()) if running.origin == "discovered"]

    async def run(
        self,
        make: Callable[[StationConfig, Origin], Station],
        start_companions: Callable[[RunningStation], None],
        release: Callable[[Station], None],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Run the stations until cancelled.

        `make` creates a station without starting it. `start_companions` is called before the station publishes its
        first event, and starts companion tasks in the nursery of the station. `release` is called in a worker thread
        after the station has ended. It frees the resources that `make` has acquired.
        """
        async with trio.open_nursery() as nursery:
            self._hooks = _Hooks(nursery, make, start_companions, release)
            task_status.started()
            await trio.sleep_forever()

    async def add(self, config: StationConfig, origin: Origin = "discovered") -> bool:
        """Start a station.

        Returns `False` and changes nothing if there is another station that takes precedence for this id.
        """
        async with self._changing:
            return await self._add(config, origin)

    async def remove(self, station: str, reason: str = "removed", *, origin: Origin | None = None) -> bool:
        """End a station, wait until its tasks have ended, and return `True`.

        Returns `False` and changes nothing if the station is not running, or if it has another origin than `origin`.
        The latter happens if a station of the configuration has replaced it in the meantime.
        """
        async with self._changing:
            known = self._running.get(station)
            if known is None or origin not in (None, known.origin):
                return False
            await self._end(known, reason)
            return True

    async def apply(self, configs: Sequence[StationConfig], origin: Origin) -> None:
        """Start, change and end the stations of one origin, so that they match `configs`. All others are left alone."""
        async with self._changing:
            by_id = {config.id: config for config in configs}
            for running in list(self._running.values()):
                if running.origin == origin and running.config.id not in by_id:
                    await self._end(running, "removed")
            for config in configs:
                known = self._running.get(config.id)
                with self._errors.contain("station", station=config.id):  # the other stations are not affected
                    if known is None or known.origin != origin:
                        await self._add(config, origin)
                    elif known.config != config:
                        await self._change(known, config)

    @property
    def _started(self) -> _Hooks:
        if self._hooks is None:
            raise RuntimeError("stations can be added only while `run` runs")
        return self._hooks

    async def _add(self, config: StationConfig, origin: Origin) -> bool:
        known = self._running.get(config.id)
        if known is not None:
            if origin != "configured" or known.origin == "configured":
                return False
            await self._end(known, "the configuration has a station of this id")
        await self._begin(config, origin)
        return True

    async def _begin(self, config: StationConfig, origin: Origin) -> None:
        running: RunningStation = await self._started.nursery.start(self._run, config, origin)
        self._log.info("station added", station=config.id, name=running.station.name, origin=origin)

    async def _change(self, running: RunningStation, config: StationConfig) -> None:
        """Apply another configuration to a station. Its subscribers stay connected.

        If only the name has changed, the station is renamed in place. Otherwise, it is restarted.
        """
        if config == msgspec.structs.replace(running.config, name=config.name):
            running.config = config
            running.station.name = config.name or config.id
            self._log.info("station renamed", station=config.id, name=running.station.name)
            return
        await self._end(running, "changed", replaced=True)
        await self._begin(config, running.origin)

    async def _end(self, running: RunningStation, reason: str, *, replaced: bool = False) -> None:
        """End a station.

        With `replaced`, another station of the same id follows immediately, so its subscribers stay and wait for the
        messages of that one.
        """
        station = running.station
        station.leave(reason)
        if not replaced:
            del self._running[station.id]
            self._hub.remove(station.channel)
        running.nursery.cancel_scope.cancel()
        await running.ended.wait()
        await trio.to_thread.run_sync(self._started.release, station)
        self._log.info("station ended", station=station.id, reason=reason)

    async def _run(
        self,
        config: StationConfig,
        origin: Origin,
        *,
        task_status: trio.TaskStatus[RunningStation] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        station = self._started.make(config, origin)
        ended = trio.Event()
        try:
            async with trio.open_nursery() as nursery:
                running = RunningStation(config, origin, station, nursery, ended)
                self._running[config.id] = running
                self._hub.add(station.channel)
                with structlog.contextvars.bound_contextvars(station=config.id):
                    self._started.start_companions(running)
                    nursery.start_soon(station.run)
                task_status.started(running)
        finally:
            ended.set()  # also when the daemon stops, because the demo removes its station then
