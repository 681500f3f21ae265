"""Where the parts are put together: order of start and stop, signals, systemd.

Start: watcher, stations, listening sockets, then READY. Stop (SIGTERM, SIGINT): listening ends, every websocket is
closed with 1001, the stations are cancelled, the final metrics are logged; all within 5 seconds.
"""

from __future__ import annotations

import gc
import shutil
import signal
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from slpstream.api import read_game
from slpstream.config import (
    EACH_SUBFOLDER,
    Config,
    Fanout,
    StationConfig,
    changes,
    is_loopback,
    recordings_folder,
    state_folder,
)
from slpstream.daemon.consoles import Sources, check_sources, same_consoles
from slpstream.daemon.games import DaemonGames
from slpstream.daemon.outputs import Outputs
from slpstream.daemon.retention import Limit, Limits, Retention
from slpstream.daemon.sets import StationSets
from slpstream.daemon.station.station import Station
from slpstream.daemon.stations import RunningStation, RunningStations
from slpstream.daemon.subfolders import Subfolders
from slpstream.game.described import describe_stored
from slpstream.game.replay_check import FinishedGames
from slpstream.model.errors import ConfigError
from slpstream.model.version import __version__
from slpstream.sets import Rules, SetPatch, SetScore
from slpstream.sources.tail import Watcher
from slpstream.store import FILE_NAME, Database, GameIndex, open_database
from slpstream.stream import Hub
from slpstream.system import logs, systemd
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics
from slpstream.web.access import Access
from slpstream.web.server import WebServer, listen

if TYPE_CHECKING:  # an extra
    from slpstream.outputs.redis.connection import Address
    from slpstream.outputs.redis.sink import RedisSink

GRACE_SECONDS = 3.0
_READER_THREADS = 4
_COUNT_SECONDS = 1.0
_GARBAGE_SECONDS = 600.0
_SUBFOLDERS_SECONDS = 5.0
"""Who comes back after a restart wants the stations to be there; but a share that hangs holds up only its own."""


ReadAgain = Callable[[], tuple[Config, list[StationConfig]]]
"""The configuration as it is now, and the stations that follow from it. Raises `ConfigError`; blocks."""


class Daemon:
    """One daemon. `run` it once; `stop` ends it."""

    def __init__(self, config: Config, stations: list[StationConfig], *, read_again: ReadAgain | None = None) -> None:
        """`read_again` reads the configuration for `reload`; `None`: there is no file. Raises `ConfigError` for what
        only the machine can tell: an unreadable token, an address that needs one."""
        self._config = config
        self._read_again = read_again
        self._station_configs = stations
        self._access = access_of(config)
        check_sources(stations)
        self.metrics = Metrics()
        self.sources = Sources(config.relay, config.recordings, recordings_folder(config), self.metrics)
        self.outputs = Outputs(config, self.metrics)
        self.hub = Hub()
        self._fanout = self._make_fanout() if config.fanout.url else None
        self.running = RunningStations(self.hub)
        self._subfolders = Subfolders(self.running, scan_seconds=config.watch.scan_seconds)
        self._web: WebServer | None = None
        self._index: GameIndex | None = None
        self._tasks = 0
        self._proof: FinishedGames | None = None
        self.scoreboard = StationSets(self.hub, _rules(config))
        self.scoreboard.listen(self.outputs.set_changed)
        self._stop = trio.Event()
        self._hung_up = trio.Event()
        self._log = get_logger()
        self.port = 0
        """The port that is listened on, once `run` has started."""

    async def reload(self) -> None:
        """Reads the configuration again and applies what can be applied; a wrong one changes nothing. Without a file
        nothing happens."""
        if self._read_again is None:
            return
        systemd.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            read, stations = await trio.to_thread.run_sync(self._read_again)
            outcome = changes(self._config, read)
            check_sources(stations)
            access = await trio.to_thread.run_sync(access_of, outcome.config)
        except ConfigError as error:
            self._log.error("configuration refused; the old one stays", what=str(error))
        else:
            self._log.info("configuration read again", changed=outcome.applied)
            if outcome.needs_restart:
                self._log.warning("needs a restart", keys=outcome.needs_restart)
            self._config = config = outcome.config
            if any(key.startswith("log.") for key in outcome.applied):
                logs.configure(config.log.format, config.log.level)
            if self._web is not None:
                self._web.admit(
                    access,
                    outbox_bytes=config.stream.outbox_bytes,
                    socket_buffer_bytes=config.stream.socket_buffer_bytes,
                    max_connections=config.server.max_connections,
                )
            self.scoreboard.use(_rules(config))
            for station in self.running.stations:
                station.configure(stalled_seconds=config.watch.stalled_seconds, pace=config.watch.pace)
            await self._apply_stations(stations)
        systemd.notify("READY=1", f"STATUS=watching {len(self.running)} stations")

    def stop(self) -> None:
        """Begins the orderly end."""
        self._stop.set()

    async def stopping(self) -> None:
        """Returns when the orderly end has begun."""
        await self._stop.wait()

    async def run(
        self, *, handle_signals: bool = True, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Runs until `stop` or a signal. `task_status` is given the port when everything listens."""
        config = self._config
        with listening(config.server.host, config.server.port) as listeners, ExitStack() as temporary:
            self.port = listeners[0].getsockname()[1]
            database = await trio.to_thread.run_sync(self._open_database, temporary)
            temporary.callback(self.outputs.close)
            await trio.to_thread.run_sync(self.outputs.open, database.path.parent)
            async with Watcher(polling_only=config.watch.polling_only) as watcher, trio.open_nursery() as background:
                self._index = index = GameIndex(
                    database,
                    (lambda path: read_game(path).record()) if config.store.index_old_files else None,
                    on_error=self.metrics.index_errors.inc,
                    on_change=self.scoreboard.changed,
                )
                background.start_soon(index.run)
                limiter = trio.CapacityLimiter(_READER_THREADS)
                self._proof = self._make_proof(background)
                self.register_gauges()
                self._web = web = self._make_web(DaemonGames(index, self.hub, limiter))
                if handle_signals:
                    await background.start(self._watch_signals)
                make = partial(self._make_station, watcher, index, limiter)
                await background.start(self.running.run, make, partial(self._release_station, watcher))
                self.running.listen(_Followed(self.outputs))
                self.running.listen(self.sources)
                await self._apply_stations(self._station_configs)
                background.start_soon(self.outputs.run)
                if self._fanout is not None:
                    background.start_soon(self._fanout.run)
                background.start_soon(self._subfolders.run)
                with trio.move_on_after(_SUBFOLDERS_SECONDS):
                    await self._subfolders.looked.wait()
                background.start_soon(self._reload_on_hangup)
                background.start_soon(self.sources.discover, self._station_configs_now, self.running.add)
                background.start_soon(
                    Retention(recordings_folder(config), index, self.hub, self.running, self.metrics).run, self._limits
                )
                background.start_soon(self.scoreboard.run, index)
                background.start_soon(self._feed_watchdog)
                background.start_soon(self._count_tasks)
                background.start_soon(_collect_garbage)
                url = f"http://{_printable_host(config.server.host)}:{self.port}"
                self._log.info("listening", url=url, stations=sorted(self.running), version=__version__)
                # Ready to be asked. Which folders have been looked at is what `/readyz` says: a share can take long.
                systemd.notify("READY=1", f"STATUS=watching {len(self.running)} stations")
                task_status.started(self.port)
                await web.serve(listeners, self._stop, grace_seconds=GRACE_SECONDS)
                background.cancel_scope.cancel()
        self._log.info("stopped", **self._final_figures())

    async def _apply_stations(self, stations: Sequence[StationConfig]) -> None:
        configured = [station for station in stations if station.id != EACH_SUBFOLDER]
        discovered = [running.config for running in self.running.values() if running.origin == "discovered"]
        for name in await same_consoles(configured, discovered):  # it has one client, and that must be the right one
            await self.running.remove(name, "the configuration has this console")
        await self.running.apply(configured, "configured")
        self._subfolders.configure(stations)

    # -- what the web room asks (`web.stations.Stations`) -----------------------------------------------------------

    def stations(self) -> list[dict[str, Any]]:
        """All stations."""
        return [station.describe() for station in self.running.stations]

    def station(self, station: str) -> dict[str, Any] | None:
        """One station with its recordings."""
        running = self.running.get(station)
        if running is None:
            return None
        return {**running.station.describe(), "recordings": running.station.recordings()}

    async def set_of(self, station: str) -> SetScore | None:
        """The newest set of a station; `None` when there is none of that name."""
        return await self.scoreboard.score(station) if station in self.running else None

    async def correct_set(self, station: str, patch: SetPatch, may: Callable[[SetScore], bool]) -> SetScore | None:
        """The set after what an operator said; `None` when `may` says no of the set before."""
        return await self.scoreboard.correct(station, patch, may)

    def not_ready(self) -> list[str]:
        """Stations whose folder is missing or was not searched yet, and sinks that cannot write."""
        return [
            *(f"folder {folder}: cannot be read" for folder in sorted(self._subfolders.unreadable)),
            *(f"station {s.id}: {s.describe()['reason']}" for s in self.running.stations if not s.ready),
            *self.outputs.not_ready(),
            *([self._fanout.problem] if self._fanout is not None and self._fanout.problem is not None else []),
        ]

    def render_metrics(self) -> bytes:
        """The Prometheus page."""
        return self.metrics.render()

    # -- parts -------------------------------------------------------------------------------------------------------

    def _open_database(self, temporary: ExitStack) -> Database:
        """The index of games; where the usual place cannot be written to, one for this run alone. Raises
        `ConfigError`."""
        store = self._config.store
        folder = state_folder(store.folder)

        def warn(aside: Path, what: str) -> None:
            self._log.warning(
                "game index is damaged; a new one is begun", file=str(folder / FILE_NAME), damaged=str(aside), what=what
            )

        try:
            return open_database(folder / FILE_NAME, on_damage=warn, describe=describe_stored)
        except (OSError, sqlite3.Error) as error:
            if store.folder:
                raise ConfigError("configuration", "store.folder", f"cannot be used: {error}") from error
            self._log.warning("game index is kept for this run alone", folder=str(folder), what=str(error))
        return open_database(_folder_in_passing(temporary) / FILE_NAME)

    def _make_station(
        self, watcher: Watcher, index: GameIndex, limiter: trio.CapacityLimiter, wanted: StationConfig
    ) -> Station:
        watch, stream = self._config.watch, self._config.stream
        folder = self.sources.folder(wanted)
        return Station(
            wanted.id,
            folder,
            name=wanted.name,
            notifications=watcher.watch(folder),
            metrics=self.metrics.station(wanted.id),
            limiter=limiter,
            poll_seconds=watch.poll_seconds,
            scan_seconds=watch.scan_seconds,
            stalled_seconds=watch.stalled_seconds,
            idle_seconds=watch.idle_seconds,
            pace=watch.pace,
            ring_bytes=stream.ring_bytes,
            index=index,
            proof=self._proof,
        )

    def _station_configs_now(self) -> list[StationConfig]:
        return [running.config for running in self.running.values()]

    def _limits(self) -> Limits:
        store, recordings = self._config.store, self._config.recordings
        return Limits(
            games=Limit(store.max_age_days, store.max_size_bytes),
            recordings=Limit(recordings.max_age_days, recordings.max_size_bytes),
        )

    def _release_station(self, watcher: Watcher, station: Station) -> None:
        """In a worker thread: what `_make_station` took."""
        if station.notifications is not None:
            watcher.unwatch(station.notifications)
        if station.id not in self.running:
            self.metrics.drop_station(station.id)

    def _make_proof(self, background: trio.Nursery) -> FinishedGames | None:
        """Who verifies finished games, if that is wanted."""
        if not self._config.verify.finished_games:
            return None
        proof = FinishedGames(lambda station, result: self.metrics.verified.labels(station, result).inc())
        background.start_soon(proof.run)
        return proof

    def _make_fanout(self) -> RedisSink:
        fanout, metrics = self._config.fanout, self.metrics
        address = broker_address(fanout)
        from slpstream.outputs.redis.sink import RedisSink  # noqa: PLC0415

        return RedisSink(
            address,
            fanout.event,
            lambda: self.hub.channels,
            max_messages=fanout.max_messages,
            max_age_seconds=fanout.max_age_minutes * 60,
            on_sent=lambda station, count: metrics.broker_sent.labels(station).inc(count),
            on_reconnect=metrics.broker_reconnects.inc,
        )

    def _make_web(self, library: DaemonGames) -> WebServer:
        server, stream, metrics = self._config.server, self._config.stream, self.metrics
        return WebServer(
            self.hub,
            self,
            library,
            self._access,
            version=__version__,
            outbox_bytes=stream.outbox_bytes,
            socket_buffer_bytes=stream.socket_buffer_bytes,
            max_connections=server.max_connections,
            overlay_folder=_folder(self._config.web.overlay_folder),
            on_lagged=metrics.lagged.inc,
            on_closed=lambda code: metrics.closed.labels(str(code)).inc(),
            on_dropped=lambda reason: metrics.dropped.labels(reason).inc(),
            on_request=lambda status: metrics.requests.labels(str(status)).inc(),
        )

    def register_gauges(self) -> None:
        """The figures that are asked for at each scrape."""

        def per_station(attribute: str) -> Any:
            return lambda: [(s.id, float(getattr(s, attribute))) for s in self.running.stations]

        gauge = self.metrics.gauge
        gauge("slpstream_active_files", "Files that are being followed.", "station", per_station("active_files"))
        gauge(
            "slpstream_tail_lag_seconds",
            "How long bytes have been waiting to be read.",
            "station",
            per_station("lag_seconds"),
        )
        gauge("slpstream_ring_bytes", "Memory of the newest messages.", "station", per_station("ring_bytes"))
        gauge("slpstream_station_playing", "1 while a game is running.", "station", self._playing)
        gauge("slpstream_station_stalled", "1 while a running game does not grow.", "station", self._stalled)
        gauge("slpstream_station_ready", "1 when the folder is readable and searched.", "station", per_station("ready"))
        gauge("slpstream_subscribers", "Live subscribers.", "station", self._subscribers)
        gauge(
            "slpstream_websockets", "Open websockets.", None, lambda: [("", self._web.websockets if self._web else 0)]
        )
        gauge(
            "slpstream_event_streams",
            "Open streams of server-sent events.",
            None,
            lambda: [("", self._web.event_streams if self._web else 0)],
        )
        gauge("slpstream_tasks", "Tasks of the event loop.", None, lambda: [("", self._tasks)])
        gauge("slpstream_indexed_games", "Games in the index.", None, self._indexed)
        gauge("slpstream_index_waiting_files", "Old replays that the index has not looked at yet.", None, self._waiting)
        gauge("slpstream_connections", "Open connections of all kinds.", None, self._connections)
        gauge("slpstream_state_free_bytes", "Free space where the state is kept.", None, self._free)
        gauge("slpstream_queued_bytes", "What waits for slow clients.", None, self._queued)
        self.sources.register_gauges()
        self.outputs.register_gauges()
        gauge("slpstream_broker_connected", "1 while the broker answers.", None, self._broker_connected)
        gauge(
            "slpstream_broker_lag_seconds",
            "For how long the broker has not had the newest message.",
            "station",
            lambda: self._broker_lag(0),
        )
        gauge(
            "slpstream_broker_lag_bytes",
            "By how much of the current replay the broker is behind.",
            "station",
            lambda: self._broker_lag(1),
        )

    def _broker_connected(self) -> Iterable[tuple[str, float]]:
        return [("", float(self._fanout is not None and self._fanout.connected))]

    def _broker_lag(self, part: int) -> Iterable[tuple[str, float]]:
        lag = {} if self._fanout is None else self._fanout.lag()
        return [(station, float(behind[part])) for station, behind in lag.items()]

    def _playing(self) -> Iterable[tuple[str, float]]:
        return [(s.id, float(s.state == "playing")) for s in self.running.stations]

    def _stalled(self) -> Iterable[tuple[str, float]]:
        return [(s.id, float(s.state == "stalled")) for s in self.running.stations]

    def _connections(self) -> Iterable[tuple[str, float]]:
        return [("", self._web.connections if self._web else 0)]

    def _free(self) -> Iterable[tuple[str, float]]:
        try:
            return [("", shutil.disk_usage(state_folder(self._config.store.folder)).free)]
        except OSError:
            return []  # there is none; the index is kept for this run alone

    def _subscribers(self) -> Iterable[tuple[str, float]]:
        return [(name, channel.subscribers) for name, channel in self.hub.channels.items()]

    def _indexed(self) -> Iterable[tuple[str, float]]:
        return [("", self._index.games if self._index else 0)]

    def _waiting(self) -> Iterable[tuple[str, float]]:
        return [("", self._index.waiting_files if self._index else 0)]

    def _queued(self) -> Iterable[tuple[str, float]]:
        return [("", self._web.queued_bytes if self._web else 0)]

    def _final_figures(self) -> dict[str, Any]:
        """The totals that matter when somebody asks afterwards."""
        totals: dict[str, float] = {}
        for family in (self.metrics.frames, self.metrics.bytes, self.metrics.games, self.metrics.lagged):
            for metric in family.collect():
                totals[metric.name.removeprefix("slpstream_")] = sum(
                    sample.value for sample in metric.samples if sample.name.endswith("_total")
                )
        return {name: int(value) for name, value in totals.items()}

    # -- tasks -------------------------------------------------------------------------------------------------------

    async def _watch_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        wanted, reload = [signal.SIGINT], None
        if sys.platform != "win32":
            wanted.append(signal.SIGTERM)
            if self._read_again is not None:
                reload = signal.SIGHUP
            if reload is not None or signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
                wanted.append(signal.SIGHUP)
        with trio.open_signal_receiver(*wanted) as signals:
            task_status.started()
            async for number in signals:
                if number == reload:
                    self._hung_up.set()
                    continue
                self._log.info("stopping", signal=signal.Signals(number).name)
                systemd.notify("STOPPING=1")
                self._stop.set()

    async def _reload_on_hangup(self) -> None:
        """Apart from the signals: a station whose server hangs takes seconds to end."""
        while True:
            await self._hung_up.wait()
            self._hung_up = trio.Event()
            await self.reload()

    async def _feed_watchdog(self) -> None:
        """From the event loop itself, so that a stuck loop is noticed."""
        interval_seconds = systemd.watchdog_interval_seconds()
        if interval_seconds is None:
            return
        while True:
            systemd.notify("WATCHDOG=1")
            await trio.sleep(interval_seconds)

    async def _count_tasks(self) -> None:
        """Here, because a scrape is answered in a thread."""
        while True:
            self._tasks = trio.lowlevel.current_statistics().tasks_living
            await trio.sleep(_COUNT_SECONDS)


class _Followed:
    """Lets the sinks follow stations as they come and go."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs

    def on_added(self, running: RunningStation) -> None:
        running.nursery.start_soon(self._outputs.follow, running.station.channel)

    def on_removed(self, running: RunningStation) -> None:
        pass  # it was followed in its own nursery


async def _collect_garbage() -> None:
    """What is over is freed by itself: games and connections hold nothing in circles (a test looks). What others leave
    behind is little, and is looked for seldom, because meanwhile nobody is served."""
    while True:
        await trio.sleep(_GARBAGE_SECONDS)
        gc.collect()


@contextmanager
def listening(host: str, port: int) -> Iterator[list[socket.socket]]:
    """Listening sockets, for a while. Raises `ConfigError`."""
    try:
        listeners = listen(host, port)
    except (OSError, OverflowError) as error:
        what = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError("server", "host and port", f"cannot listen on {host}:{port}: {what}") from error
    try:
        yield listeners
    finally:
        for listener in listeners:
            listener.close()


def _rules(config: Config) -> Rules:
    sets = config.sets
    return Rules(
        best_of=sets.best_of,
        handwarmer_seconds=sets.handwarmer_seconds,
        handwarmer_stocks=sets.handwarmer_stocks,
        quit_counts=sets.quit_counts,
        new_set_seconds=60 * sets.new_set_minutes,
    )


def access_of(config: Config) -> Access:
    """Who may come in. Raises `ConfigError`."""
    server = config.server
    token = _token("token", server.token_file)
    operate_token = _token("operate_token", server.operate_token_file)
    if token is None and (server.require_token or not is_loopback(server.host)):
        raise ConfigError("configuration", "server.token_file", f"listening on {server.host} needs a token")
    if token is not None and token == operate_token:
        raise ConfigError("configuration", "server.operate_token_file", "must not be the token of those who read")
    return Access(
        token, operate_token, server.require_token, tuple(server.allowed_origins), tuple(server.allowed_hosts)
    )


def _token(credential: str, token_file: str) -> str | None:
    path = Path(token_file) if token_file else systemd.credential(credential)
    if path is None:
        return None
    key = f"server.{credential}_file"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("configuration", key, f"cannot be read: {error}") from error
    token = text.split("\n", 1)[0].strip()
    if not token:
        raise ConfigError("configuration", key, "the first line is empty")
    return token


def broker_address(fanout: Fanout) -> Address:
    """Where the broker is. What speaks to it is an extra, and loaded by those alone who have one. Raises
    `ConfigError`."""
    if find_spec("coredis") is None:
        raise ConfigError("configuration", "fanout.url", "takes the extra: pip install 'slpstream[fanout]'")
    from slpstream.outputs.redis.connection import address_of  # noqa: PLC0415

    return address_of(fanout.url, fanout.password_file, fanout.ca_file)


def _folder_in_passing(temporary: ExitStack) -> Path:
    """A folder that goes with this run. Where the whole root is read-only, memory is what can be written to. Raises
    `ConfigError`."""
    for place in (None, "/dev/shm"):  # noqa: S108 -- of the system's making, and the name in it is random
        try:
            return Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="slpstream-", dir=place)))
        except OSError as error:
            what = error
    raise ConfigError("configuration", "store.folder", f"nothing can be written to: {what}") from what


def _folder(configured: str) -> Path | None:
    return Path(configured).expanduser() if configured else None


def _printable_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
