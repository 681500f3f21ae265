"""The daemon: stations, sets, parts and the web server put together as one service."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from slpstream.api import read_codes, read_game
from slpstream.config import (
    EACH_SUBFOLDER,
    Config,
    StationConfig,
    changes,
    recordings_folder,
    state_folder,
    station_folder,
)
from slpstream.daemon.archived_games import read_archive
from slpstream.daemon.deliveries.queue import DeliveryQueue
from slpstream.daemon.demo import Demo
from slpstream.daemon.expiry import expire_games
from slpstream.daemon.found_situations import list_situations
from slpstream.daemon.game_codes import GameCodes
from slpstream.daemon.game_conditions import query_words
from slpstream.daemon.games import DaemonGames
from slpstream.daemon.highlights import DaemonHighlights
from slpstream.daemon.on_air.state import StationOnAir
from slpstream.daemon.running_parts import RunningParts
from slpstream.daemon.service import Service, access_of, contain_errors, limits_of, make_web_server
from slpstream.daemon.sets import StationSets
from slpstream.daemon.station.services import SharedServices
from slpstream.daemon.station.station import Station
from slpstream.daemon.stations import RunningStation, RunningStations
from slpstream.daemon.subfolders import Subfolders
from slpstream.formats.registry import load_stats
from slpstream.game.described import describe_stored
from slpstream.game.record import record_of
from slpstream.model.errors import ConfigError, DemoRefused
from slpstream.parts import registry
from slpstream.parts.interface import Host
from slpstream.parts.services import FinishedGameCheck, Marks, RelayedStations
from slpstream.sets import Change, ImpossibleCorrection, Rules, SetPatch, SetScore
from slpstream.sources.tail import Watcher
from slpstream.store import FILE_NAME, Database, GameIndex, NewerVersion, open_database
from slpstream.stream import Hub, OnAir
from slpstream.system import logs
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics
from slpstream.system.private_files import private_folder
from slpstream.web import (
    controllers,
    highlights,
    instant_replay,
    schemas,
    search,
    situations,
)
from slpstream.web.server import WebServer

if TYPE_CHECKING:
    from slpstream.daemon.playback import Playback
    from slpstream.daemon.situations import DaemonSituations
    from slpstream.daemon.tournament.controllers import DaemonControllers

_READER_THREADS = 4
_SUBFOLDERS_SECONDS = 5.0
"""Clients that reconnect after a restart expect the stations of subfolders, so the start waits for the first look at
them; but not longer, because a network share can hang."""

ReadAgain = Callable[[], tuple[Config, list[StationConfig]]]
"""Reads the configuration again; returns it with the resulting stations. Raises `ConfigError`. Blocks."""


class Daemon:
    """One daemon. Call `run` once; `stop` ends it."""

    def __init__(
        self,
        config: Config,
        stations: list[StationConfig],
        *,
        read_again: ReadAgain | None = None,
        strict: bool = False,
    ) -> None:
        """`read_again` is used by `reload`; `None` disables it, without a configuration file. With `strict`, a bug ends
        the daemon and not only the part that it is in. Raises `ConfigError` for what only this machine can tell: a
        token that cannot be read, an address that needs one."""
        self._config = config
        self._read_again = read_again
        self._station_configs = stations
        self._access = access_of(config.server)
        self.metrics = registry.metrics()
        self.errors = errors = contain_errors(self.metrics, strict=strict)
        self.service = Service(
            config.server,
            lambda: f"watching {len(self.running)} stations",
            errors,
            reload=None if read_again is None else self._reload_on_signal,
        )
        on_air = OnAir()
        self.hub = Hub(on_air)
        self.running = RunningStations(self.hub, errors)
        self.demo = Demo(self.running)
        self.on_air = StationOnAir(
            self.hub,
            on_air,
            config.on_air,
            on_switch=lambda by: self.metrics.counter("slpstream_on_air_switches_total", by).inc(),
            is_hidden=self.running.is_temporary,
        )
        self._subfolders = Subfolders(self.running, scan_seconds=config.watch.scan_seconds)
        self._index: GameIndex | None = None
        self._web: WebServer | None = None
        self.sets = StationSets(self.hub, _rules(config), errors)
        self.sets.listen(self._set_changed)
        self._deliveries = DeliveryQueue(self.metrics)
        self._host = Host(
            config,
            hub=self.hub,
            on_air=on_air,
            sets=self.sets,
            stations=self.running,
            deliveries=self._deliveries,
            access=lambda: self._access,
            metrics=self.metrics,
            errors=errors,
        )
        self.parts = RunningParts(registry.parts(), self._host)
        if self._host.find(RelayedStations) is None:
            _refuse_consoles(stations)
        self._situations = self._make_situations(config)
        self.playback = _playback(config, self.hub, self.metrics)
        self.controllers = self._make_controllers(config)
        self._reloading = trio.Lock()
        self._log = get_logger()

    async def reload(self) -> schemas.Reloaded | None:
        """Reads the configuration again and applies the keys that can change while running.

        Returns `None` without a configuration file. Raises `ConfigError` for an invalid one, which changes nothing.
        """
        async with self._reloading:
            return None if self._read_again is None else await self._reload(self._read_again)

    async def _reload_on_signal(self) -> None:
        with contextlib.suppress(ConfigError):  # the log has it
            await self.reload()

    async def _reload(self, read_again: ReadAgain) -> schemas.Reloaded:
        try:
            read, stations = await trio.to_thread.run_sync(read_again)
            await trio.to_thread.run_sync(check_startable, read, stations)
            outcome = changes(self._config, read, registry.sections())
            access = await trio.to_thread.run_sync(access_of, outcome.config.server)
        except ConfigError as error:
            self._log.error("configuration refused; the old one stays", what=str(error))
            raise
        self._log.info("configuration reloaded", changed=outcome.applied)
        if outcome.needs_restart:
            self._log.warning("needs a restart", keys=outcome.needs_restart)
        self._config = config = outcome.config
        if any(key.startswith("log.") for key in outcome.applied):
            logs.configure(config.log.format, config.log.level)
        self._access = access
        if self._web is not None:
            self._web.configure(access, limits_of(config))
        self.sets.use(_rules(config))
        self.on_air.use(config.on_air)
        for station in self.running.stations:
            station.configure(config.watch)
        self.parts.configure(config)
        await self._apply_stations(stations)
        return schemas.Reloaded(changed=list(outcome.applied), needs_restart=list(outcome.needs_restart))

    def stop(self) -> None:
        """Begins the orderly stop."""
        self.service.stop()

    async def stopping(self) -> None:
        """Waits until the orderly stop has begun."""
        await self.service.stopping()

    async def run(
        self, *, handle_signals: bool = True, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Runs until `stop` or a signal. `task_status` receives the port once requests are answered."""
        config, service = self._config, self.service
        with service.listening(), ExitStack() as temporary:
            database, state, trouble = await trio.to_thread.run_sync(self._open_database, temporary)
            self._host.state_folder = state
            temporary.callback(self._deliveries.close)
            await trio.to_thread.run_sync(self._deliveries.open, state)
            async with (
                Watcher(polling_only=config.watch.polling_only) as watcher,
                service.background(handle_signals=handle_signals) as background,
            ):
                self._index = index = GameIndex(
                    database,
                    (lambda path: record_of(read_game(path))) if config.store.index_old_files else None,
                    on_error=self.metrics.counter("slpstream_index_errors_total").inc,
                    on_change=self._games_changed,
                    on_replaced=self._index_again,
                    temporary=trouble,
                    errors=self.errors,
                    read_archive=read_archive,
                )
                self._host.index = index
                self._host.codes = codes = GameCodes(index, read_codes)
                limiter = trio.CapacityLimiter(_READER_THREADS)
                self._host.games = games = DaemonGames(
                    index, self.hub, limiter, self._folders, codes, config.search.me, self.sets.names_of
                )
                self._host.port = service.port
                temporary.callback(self.parts.close)
                await trio.to_thread.run_sync(self.parts.open)
                background.start_soon(index.run)
                if self.controllers is not None:
                    self.controllers.use(games.log, games.newest_of)
                found = DaemonHighlights(index, games.find, games.replay_name, self.sets, self.running.__contains__)
                marked = self._host.find(Marks)
                if self._situations is not None and marked is not None:
                    self._situations.mark(marked)
                more = [
                    search.endpoint(query_words),
                    *highlights.endpoints(found),
                    situations.endpoint(partial(list_situations, index, games.replay_name, self.sets.names_of)),
                    *instant_replay.endpoints(self.playback, self.running.__contains__),
                    *controllers.endpoints(self.controllers, self.running.__contains__),
                    *registry.endpoints(self.parts.by_name),
                ]
                self._web = web = make_web_server(
                    config,
                    self.hub,
                    self,
                    games,
                    self._access,
                    self.metrics,
                    self.errors,
                    setup=self,
                    on_air=self.on_air,
                    more=more,
                )
                self._bind_gauges(web, index)
                make = partial(self._make_station, watcher, index, limiter)
                await background.start(
                    self.running.run, make, self._start_companions, partial(self._release_station, watcher)
                )
                await self._apply_stations(self._station_configs)
                background.start_soon(self.errors.keep_running, "subfolders", self._subfolders.run)
                with trio.move_on_after(_SUBFOLDERS_SECONDS):
                    await self._subfolders.looked.wait()
                background.start_soon(self.parts.run)
                background.start_soon(self.errors.keep_running, "station", self.demo.run)
                expire = partial(expire_games, index, self.hub, self.metrics, lambda: self._config.store)
                background.start_soon(self.errors.keep_running, "retention", expire)
                background.start_soon(self.errors.keep_running, "sets", partial(self.sets.run, index))
                background.start_soon(self.errors.keep_running, "on_air", partial(self.on_air.run, index))
                if self.playback is not None:
                    playback = partial(self.playback.run, games.find, games.stats, marked, found.page)
                    background.start_soon(self.errors.keep_running, "playback", playback)
                background.start_soon(trio.to_thread.run_sync, load_stats)
                await service.serve(web, task_status=task_status, stations=sorted(self.running))
        self._log.info("stopped", **self._final_figures())

    async def _apply_stations(self, stations: Sequence[StationConfig]) -> None:
        configured = [station for station in stations if station.id != EACH_SUBFOLDER]
        await self.parts.stations_configured(configured)
        await self.running.apply(configured, "configured")
        self._subfolders.configure(stations)

    def _start_companions(self, running: RunningStation) -> None:
        """Starts the companions of a station, such as those of parts. A temporary station has none."""
        if running.is_temporary:
            return
        channel = running.station.channel
        self.parts.station_starts(running)
        running.nursery.start_soon(self.parts.follow, channel)
        if self.controllers is not None:
            check = partial(self.controllers.follow, channel)
            keep_running = partial(self.errors.keep_running, "controllers", check, station=running.station.id)
            running.nursery.start_soon(keep_running)
        if self._situations is not None and self._index is not None:
            search = partial(self._situations.follow, self._index, channel)
            running.nursery.start_soon(
                partial(self.errors.keep_running, "situations", search, station=running.station.id)
            )

    def stations(self) -> list[dict[str, Any]]:
        """All stations, see `web.stations.Stations`."""
        return [self._described(station) for station in self.running.stations]

    def station(self, station: str) -> dict[str, Any] | None:
        """One station with its newest files; `None` if it does not exist."""
        running = self.running.get(station)
        if running is None:
            return None
        return {**self._described(running.station), "recordings": running.station.recordings()}

    def _described(self, station: Station) -> dict[str, Any]:
        more = {"demo": station.id == self.demo.station, "discovered": station.id in self.running.discovered()}
        return station.describe() | {key: True for key, value in more.items() if value}

    async def remove_discovered(self, station: str) -> bool:
        """Removes the station of a discovered console, see `web.stations.Stations`."""
        return await self.running.remove(station, "removed by the operator", origin="discovered")

    def _games_changed(self, station: str | None) -> None:
        self.sets.changed(station)
        self.parts.games_changed(station)

    def _index_again(self) -> None:
        """Reports all files to the index, which has lost the games in them."""
        for station in self.running.stations:
            station.index_again()
        self.parts.index_lost()

    def _folders(self) -> list[Path]:
        """The folders whose games the index keeps up to date."""
        return [station.folder for station in self.running.stations]

    async def setup(self) -> schemas.Setup:
        """The watched folders, see `web.setup.Setup`."""
        watched = self.running.lasting_stations
        exist = await trio.to_thread.run_sync(lambda: [station.folder.is_dir() for station in watched])
        folders = [
            schemas.WatchedFolder(station=station.id, name=station.name, folder=str(station.folder), exists=exists)
            for station, exists in zip(watched, exist, strict=True)
        ]
        return schemas.Setup(folders=folders, demo=self.demo.station)

    async def start_demo(self) -> None:
        """Starts a demo, see `web.setup.Setup`."""
        reason = self.parts.refuses_demo()
        if reason is not None:
            raise DemoRefused(reason)
        await self.demo.start()

    async def stop_demo(self) -> None:
        """Ends the demo, see `web.setup.Setup`."""
        await self.demo.stop()

    def _set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        if not self.running.is_temporary(station):
            self.parts.set_changed(station, payload)
            if self.playback is not None:
                with self.errors.contain("playback", station=station):
                    self.playback.set_changed(station, payload)

    async def set_of(self, station: str) -> SetScore | None:
        """The newest set of a station; `None` if the station does not exist."""
        return await self.sets.score(station) if station in self.running else None

    async def correct_set(
        self, station: str, patch: SetPatch, is_current: Callable[[SetScore], bool], by: str
    ) -> SetScore | None:
        """Corrects the newest set of a station, see `web.stations.Stations`."""
        if self.running.is_temporary(station):
            raise ImpossibleCorrection("the demo counts for no set")
        return await self.sets.correct(station, patch, is_current, by=by)

    async def set_changes(self, station: str) -> Sequence[Change]:
        """The changes that operators have made to the sets of a station, oldest first."""
        return await self.sets.changes(station)

    async def undo_set_change(self, station: str, change_id: int, by: str) -> SetScore:
        """Undoes one of those changes, see `web.stations.Stations`."""
        return await self.sets.undo(station, change_id, by=by)

    def not_ready(self) -> list[str]:
        """Folders and stations that cannot be read, parts that do not work, a temporary index, and whatever is started
        again after a bug."""
        trouble = None if self._index is None else self._index.trouble
        return [
            *([] if trouble is None else [f"index of games: {trouble}"]),
            *(f"folder {folder}: cannot be read" for folder in sorted(self._subfolders.unreadable)),
            *(
                f"station {s.id}: {s.describe()['reason']}"
                for s in self.running.stations
                if not (s.ready or s.starting)
            ),
            *self.parts.not_ready(),
            *([] if self.playback is None else self.playback.not_ready()),
            *self.errors.restarting(),
        ]

    def starting(self) -> list[str]:
        """The stations whose folder has not been searched yet."""
        return [station.id for station in self.running.stations if station.starting]

    def render_metrics(self, names: Collection[str] = ()) -> bytes:
        """The Prometheus page, or only the samples with some names."""
        return self.metrics.render(names)

    def _open_database(self, temporary: ExitStack) -> tuple[Database, Path, str | None]:
        """Opens the index of games, in a temporary folder if its own cannot be used: streaming does not need it.

        Returns also the folder for other state, and why the index is temporary. Raises `ConfigError`.
        """
        folder = state_folder(self._config.store.folder)
        if any(Path(each.folder).expanduser().is_relative_to(folder) for each in self._station_configs if each.folder):
            self._log.warning("state folder stays open to other users: it has watched folders", folder=str(folder))
        else:
            with suppress(OSError):  # opening the database fails in the same way
                if private_folder(folder):
                    self._log.warning("state folder was open to other users; it is closed now", folder=str(folder))

        def warn(aside: Path, what: str) -> None:
            self._log.warning(
                "game index is damaged; starting a new one", file=str(folder / FILE_NAME), damaged=str(aside), what=what
            )

        try:
            return open_database(folder / FILE_NAME, on_damage=warn, describe=describe_stored), folder, None
        except NewerVersion as error:
            what, state = error.expected, folder
        except (OSError, sqlite3.Error) as error:
            what, state = str(error), None
        self._log.warning("game index is kept for this run alone", folder=str(folder), what=what)
        database = _temporary_database(temporary)
        return database, state or database.path.parent, f"{folder / FILE_NAME} {what}"

    def _make_station(
        self, watcher: Watcher, index: GameIndex, limiter: trio.CapacityLimiter, wanted: StationConfig
    ) -> Station:
        folder = station_folder(wanted, recordings_folder(self._config))
        kept = wanted.id != self.demo.station
        notifications = None
        with self.errors.contain("notifications", station=wanted.id):  # without them, the folder is polled
            notifications = watcher.watch(folder)
        return Station(
            wanted.id,
            folder,
            name=wanted.name,
            notifications=notifications,
            metrics=self.metrics.station(wanted.id),
            watch=self._config.watch,
            ring_bytes=self._config.stream.ring_bytes,
            shared=SharedServices(
                limiter,
                index if kept else None,
                self._host.find(FinishedGameCheck) if kept else None,
                errors=self.errors,
            ),
        )

    def _release_station(self, watcher: Watcher, station: Station) -> None:
        """Returns what `_make_station` took. Blocks."""
        if station.notifications is not None:
            watcher.unwatch(station.notifications)
        if station.id not in self.running:
            self.metrics.drop_station(station.id)

    def _make_controllers(self, config: Config) -> DaemonControllers | None:
        if not config.controllers.check:
            return None
        from slpstream.daemon.tournament.controllers import DaemonControllers  # noqa: PLC0415 -- few daemons check them

        return DaemonControllers(
            lambda check, confidence: self.metrics.counter(
                "slpstream_controller_findings_total", check, confidence
            ).inc()
        )

    def _make_situations(self, config: Config) -> DaemonSituations | None:
        if not config.situations:
            return None
        from slpstream.daemon.situations import DaemonSituations  # noqa: PLC0415 -- few daemons look for situations

        wanted = DaemonSituations(config.situations, self.metrics)
        wanted.tell(self.parts.situation_found)
        wanted.show(self.parts.situation_seen)
        return wanted

    def _bind_gauges(self, web: WebServer, index: GameIndex) -> None:
        """Exports all gauges, in the order of the page."""

        def per_station(read: Callable[[Station], float]) -> Callable[[], Mapping[str, float]]:
            return lambda: {station.id: float(read(station)) for station in self.running.stations}

        metrics = self.metrics
        metrics.bind_each("slpstream_active_files", per_station(lambda station: station.active_files))
        metrics.bind_each("slpstream_tail_lag_seconds", per_station(lambda station: station.lag_seconds))
        metrics.bind_each("slpstream_ring_bytes", per_station(lambda station: station.ring_bytes))
        metrics.bind_each("slpstream_station_playing", per_station(lambda station: station.state == "playing"))
        metrics.bind_each("slpstream_station_stalled", per_station(lambda station: station.state == "stalled"))
        metrics.bind_each("slpstream_station_ready", per_station(lambda station: station.ready))
        on_air = self.hub.on_air
        metrics.bind_each(
            "slpstream_station_on_air",
            lambda: {on_air.station_id: 1.0} if on_air is not None and on_air.station_id is not None else {},
        )
        metrics.bind_each(
            "slpstream_watched_stations", lambda: Counter(station.strategy for station in self.running.stations)
        )
        metrics.bind_each(
            "slpstream_subscribers",
            lambda: {name: channel.subscribers for name, channel in self.hub.channels.items()},
        )
        metrics.bind("slpstream_websockets", lambda: web.websockets)
        metrics.bind("slpstream_event_streams", lambda: web.event_streams)
        metrics.bind("slpstream_tasks", lambda: self.service.tasks)
        metrics.bind("slpstream_indexed_games", lambda: index.games)
        metrics.bind("slpstream_index_waiting_files", lambda: index.waiting_files)
        metrics.bind("slpstream_connections", lambda: web.connections)
        metrics.bind("slpstream_state_free_bytes", self._free_bytes)
        metrics.bind("slpstream_queued_bytes", lambda: web.queued_bytes)
        metrics.bind("slpstream_playback_unread", lambda: float(self.playback is not None and self.playback.unread))
        self._deliveries.bind_gauges()
        metrics.bind_idle()

    def _free_bytes(self) -> float | None:
        """Free space in the state folder; `None` if the folder does not exist, because the index is temporary."""
        try:
            return shutil.disk_usage(state_folder(self._config.store.folder)).free
        except OSError:
            return None

    def _final_figures(self) -> dict[str, int]:
        """The totals that help to understand a run afterwards."""
        names = ("frames_total", "read_bytes_total", "games_total", "lagged_messages_total")
        return {name.removesuffix("_total"): int(self.metrics.total(f"slpstream_{name}")) for name in names}


def check_startable(config: Config, stations: list[StationConfig]) -> None:
    """Raises `ConfigError` for a checked configuration with which a daemon would not start on this machine. Blocks.

    Putting the parts together is the check, so that no part needs a second one.
    """
    Daemon(config, stations)


def _playback(config: Config, hub: Hub, metrics: Metrics) -> Playback | None:
    """The Playback Dolphin; `None` if none is configured."""
    if not config.playback.file:
        return None
    from slpstream.daemon.playback import Playback  # noqa: PLC0415 -- few setups have one

    return Playback(config.playback, hub, metrics)


def _refuse_consoles(stations: Sequence[StationConfig]) -> None:
    """Raises `ConfigError` for a station with a console or a relay port, which need a part that is not installed."""
    for i, station in enumerate(stations):
        for key in ("console", "dolphin", "relay_port", "raw_relay_port", "relay_enet_port"):
            if getattr(station, key):
                raise ConfigError("configuration", f"stations[{i}].{key}", "this installation has no part for it")


def _rules(config: Config) -> Rules:
    sets = config.sets
    return Rules(
        best_of=sets.best_of,
        handwarmer_seconds=sets.handwarmer_seconds,
        handwarmer_stocks=sets.handwarmer_stocks,
        max_handwarmer_seconds=sets.max_handwarmer_seconds,
        max_handwarmer_percent=sets.max_handwarmer_percent,
        quit_counts=sets.quit_counts,
        new_set_seconds=60 * sets.new_set_minutes,
    )


def _temporary_database(temporary: ExitStack) -> Database:
    """An index that is deleted with `temporary`, in memory if all disks are read-only or full. Raises `ConfigError`."""
    for place in (None, "/dev/shm"):  # noqa: S108 -- TemporaryDirectory chooses an unpredictable name in it
        try:
            folder = temporary.enter_context(tempfile.TemporaryDirectory(prefix="slpstream-", dir=place))
            return open_database(Path(folder) / FILE_NAME)
        except (OSError, sqlite3.Error) as error:
            what = error
    raise ConfigError("configuration", "store.folder", "nothing can be written to", found=what) from what
