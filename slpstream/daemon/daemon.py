"""The daemon, which puts stations, sets, parts and the web server together into one service."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.api import read_codes, read_game
from slpstream.config import (
    EACH_SUBFOLDER,
    Config,
    StationConfig,
    changes,
)
from slpstream.daemon.archived_games import read_archive
from slpstream.daemon.game_codes import GameCodes
from slpstream.daemon.games import DaemonGames
from slpstream.daemon.gauges import bind_gauges
from slpstream.daemon.index_database import OpenedDatabase, open_index_database
from slpstream.daemon.running_parts import RunningParts
from slpstream.daemon.served_stations import ServedStations
from slpstream.daemon.service import Service, access_of, contain_errors, limits_of, make_web_server
from slpstream.daemon.sets import StationSets
from slpstream.daemon.station_factory import StationFactory
from slpstream.daemon.stations import RunningStation, RunningStations
from slpstream.daemon.subfolders import Subfolders
from slpstream.formats.registry import load_stats
from slpstream.model.errors import ConfigError
from slpstream.parts import registry
from slpstream.parts.interface import Host
from slpstream.sets import Rules
from slpstream.sources.tail.watcher import Watcher
from slpstream.store import GameIndex
from slpstream.stream.channel import Hub, OnAir
from slpstream.system import logs
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics
from slpstream.web import schemas
from slpstream.web.server import WebServer

_READER_THREADS = 4
_SUBFOLDERS_SECONDS = 5.0
"""How long the start waits until the subfolders have been listed for the first time.

Clients that reconnect after a restart expect the stations of these subfolders to be there. But the wait has a limit,
because a network share can hang.
"""

ReadAgain = Callable[[], tuple[Config, list[StationConfig]]]
"""Reads the configuration again, and returns it with the stations that follow from it. It raises `ConfigError`, and
blocks."""


class Daemon:
    """One daemon. Call `run` once, and end it with `stop`."""

    def __init__(
        self,
        config: Config,
        stations: list[StationConfig],
        *,
        read_again: ReadAgain | None = None,
        strict: bool = False,
    ) -> None:
        """`read_again` is used by `reload`. If it is `None`, because there is no configuration file, `reload` is
        disabled. With `strict`, a bug doesn't only end the part that it is in, but the whole daemon.

        Raises `ConfigError` for mistakes that only this machine can reveal, such as a token that cannot be read or an
        address that needs one.
        """
        self._read_again = read_again
        self._station_configs = stations
        self._access = access_of(config.server)
        metrics = registry.metrics()
        errors = contain_errors(metrics, strict=strict)
        on_air = OnAir()
        hub = Hub(on_air)
        self.host = host = Host(
            config,
            hub=hub,
            on_air=on_air,
            sets=StationSets(hub, Rules.of(config.sets), errors),
            stations=RunningStations(hub, errors),
            access=lambda: self._access,
            metrics=metrics,
            errors=errors,
        )
        """The objects that the daemon shares with its parts."""
        host.sets.listen(self._set_changed)
        self.parts = RunningParts(registry.parts(), host)
        self._subfolders = Subfolders(host.stations, scan_seconds=config.watch.scan_seconds)
        self.served = ServedStations(host, self._subfolders, self.reload)
        self._service = Service(
            config.server,
            lambda: f"watching {len(host.stations)} stations",
            errors,
            reload=None if read_again is None else self._reload_on_signal,
        )
        self._web: WebServer | None = None
        self._reloading = trio.Lock()
        self._log = get_logger()

    async def reload(self) -> schemas.Reloaded | None:
        """Read the configuration again, and apply everything that can change while the daemon is running.

        Returns `None` if there is no configuration file. Raises `ConfigError` if it is invalid, and changes nothing
        then.
        """
        async with self._reloading:
            return None if self._read_again is None else await self._reload(self._read_again)

    async def _reload_on_signal(self) -> None:
        with contextlib.suppress(ConfigError):  # the log has it
            await self.reload()

    async def _reload(self, read_again: ReadAgain) -> schemas.Reloaded:
        host = self.host
        try:
            read, stations = await trio.to_thread.run_sync(read_again)
            await trio.to_thread.run_sync(check_startable, read, stations)
            outcome = changes(host.config, read, registry.sections())
            access = await trio.to_thread.run_sync(access_of, outcome.config.server)
        except ConfigError as error:
            self._log.error("configuration refused; the old one stays", what=str(error))
            raise
        self._log.info("configuration reloaded", changed=outcome.applied)
        if outcome.needs_restart:
            self._log.warning("needs a restart", keys=outcome.needs_restart)
        host.config = config = outcome.config
        if any(key.startswith("log.") for key in outcome.applied):
            logs.configure(config.log.format, config.log.level)
        self._access = access
        if self._web is not None:
            self._web.configure(access, limits_of(config))
        host.sets.use(Rules.of(config.sets))
        for station in host.stations.stations:
            station.configure(config.watch)
        self.parts.configure(config)
        await self._apply_stations(stations)
        return schemas.Reloaded(changed=list(outcome.applied), needs_restart=list(outcome.needs_restart))

    def stop(self) -> None:
        """Begin the orderly stop."""
        self._service.stop()

    async def stopping(self) -> None:
        """Wait until the orderly stop has begun."""
        await self._service.stopping()

    async def run(
        self,
        *,
        handle_signals: bool = True,
        on_listening: Callable[[int], None] = lambda port: None,
        task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Run until `stop` is called or a signal arrives.

        `on_listening` is called with the port before anything else is done. `task_status` receives the port as soon as
        requests are answered.
        """
        host, service, config = self.host, self._service, self.host.config
        keep_running = host.errors.keep_running
        with service.listening(), ExitStack() as temporary:
            on_listening(service.port)
            opened = await trio.to_thread.run_sync(open_index_database, config, self._station_configs, temporary)
            async with (
                Watcher(polling_only=config.watch.polling_only) as watcher,
                service.background(handle_signals=handle_signals) as background,
            ):
                limiter = trio.CapacityLimiter(_READER_THREADS)
                self._complete_host(opened, limiter)
                temporary.callback(self.parts.close)
                await trio.to_thread.run_sync(self.parts.open)
                background.start_soon(host.index.run)
                self._web = web = self._make_web_server()
                bind_gauges(host, web, lambda: service.tasks)
                factory = StationFactory(host, watcher, limiter)
                await background.start(host.stations.run, factory.make, self._start_companions, factory.release)
                await self._apply_stations(self._station_configs)
                background.start_soon(keep_running, "subfolders", self._subfolders.run)
                with trio.move_on_after(_SUBFOLDERS_SECONDS):
                    await self._subfolders.looked.wait()
                background.start_soon(self.parts.run)
                background.start_soon(keep_running, "sets", partial(host.sets.run, host.index))
                background.start_soon(trio.to_thread.run_sync, load_stats)
                await service.serve(web, task_status=task_status, stations=sorted(host.stations))
        self._log.info("stopped", **_final_figures(host.metrics))

    def _complete_host(self, opened: OpenedDatabase, limiter: trio.CapacityLimiter) -> None:
        """Add those objects to the host that only exist while the daemon is running."""
        host, config = self.host, self.host.config
        host.state_folder = opened.state_folder
        host.port = self._service.port
        host.index = GameIndex(
            opened.database,
            (lambda path: read_game(path).record()) if config.store.index_old_files else None,
            on_error=host.metrics.counter("slpstream_index_errors_total").inc,
            on_change=self._games_changed,
            on_replaced=self._index_again,
            temporary=opened.trouble,
            errors=host.errors,
            read_archive=read_archive,
        )
        codes = GameCodes(host.index, read_codes)
        host.games = DaemonGames(
            host.index, host.hub, limiter, self._folders, codes, config.search.me, host.sets.names_of
        )

    def _make_web_server(self) -> WebServer:
        host = self.host
        more = registry.endpoints(self.parts.by_name)
        return make_web_server(
            host.config, host.hub, self.served, host.games, self._access, host.metrics, host.errors, more=more
        )

    async def _apply_stations(self, stations: Sequence[StationConfig]) -> None:
        configured = [station for station in stations if station.id != EACH_SUBFOLDER]
        await self.parts.stations_configured(configured)
        await self.host.stations.apply(configured, "configured")
        self._subfolders.configure(stations)

    def _start_companions(self, running: RunningStation) -> None:
        """Let the parts follow a station, unless it is temporary."""
        if running.is_temporary:
            return
        channel = running.station.channel
        self.parts.station_starts(running)
        running.nursery.start_soon(self.parts.follow, channel)

    def _games_changed(self, station: str | None) -> None:
        self.host.sets.changed(station)
        self.parts.games_changed(station)

    def _index_again(self) -> None:
        """Report all files to the index again, because it has lost the games in them."""
        for station in self.host.stations.stations:
            station.index_again()
        self.parts.index_lost()

    def _folders(self) -> list[Path]:
        """Return the folders whose games the index keeps up to date."""
        return [station.folder for station in self.host.stations.stations]

    def _set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        if not self.host.stations.is_temporary(station):
            self.parts.set_changed(station, payload)


def check_startable(config: Config, stations: list[StationConfig]) -> None:
    """Raise `ConfigError` if a daemon with this (already checked) configuration would not start on this machine.

    This blocks. To find out, we put the daemon and its parts together in the same way as for a start. This means that
    no part needs a second check.
    """
    Daemon(config, stations)


def _final_figures(metrics: Metrics) -> dict[str, int]:
    """Return the totals that help to understand a run afterwards."""
    names = ("frames_total", "read_bytes_total", "games_total", "lagged_messages_total")
    return {name.removesuffix("_total"): int(metrics.total(f"slpstream_{name}")) for name in names}
