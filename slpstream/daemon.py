"""Where the parts are put together: order of start and stop, signals, systemd.

Start: watcher, stations, listening sockets, then READY. Stop (SIGTERM, SIGINT): listening ends, every websocket is
closed with 1001, the stations are cancelled, the final metrics are logged; all within 5 seconds.
"""

from __future__ import annotations

import signal
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from slpstream import systemd
from slpstream._version import __version__
from slpstream.api import read_game
from slpstream.config import Config, Fanout, StationConfig, is_loopback, state_folder
from slpstream.errors import ConfigError
from slpstream.library import Library
from slpstream.logs import get_logger
from slpstream.metrics import Metrics
from slpstream.station import Station
from slpstream.store import FILE_NAME, Database, GameIndex, open_database
from slpstream.stream import Hub
from slpstream.tail import Watcher
from slpstream.web.access import Access
from slpstream.web.server import WebServer, listen

if TYPE_CHECKING:  # an extra
    from slpstream.sinks.broker import Address
    from slpstream.sinks.redis import RedisSink

GRACE_SECONDS = 3.0
_READER_THREADS = 4


class Daemon:
    """One daemon. `run` it once; `stop` ends it."""

    def __init__(self, config: Config, stations: list[StationConfig]) -> None:
        """Raises `ConfigError` for what only the machine can tell: an unreadable token, an address that needs one."""
        self._config = config
        self._station_configs = stations
        self._access = access_of(config)
        self.metrics = Metrics()
        self.hub = Hub()
        self._fanout = self._make_fanout() if config.fanout.url else None
        self._stations: dict[str, Station] = {}
        self._web: WebServer | None = None
        self._index: GameIndex | None = None
        self._stop = trio.Event()
        self._log = get_logger()
        self.port = 0
        """The port that is listened on, once `run` has started."""

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
            async with Watcher(polling_only=config.watch.polling_only) as watcher, trio.open_nursery() as background:
                self._index = index = GameIndex(
                    database,
                    read_game if config.store.index_old_files else None,
                    on_error=self.metrics.index_errors.inc,
                )
                background.start_soon(index.run)
                limiter = trio.CapacityLimiter(_READER_THREADS)
                self._make_stations(watcher, index, limiter)
                self.register_gauges()
                self._web = web = self._make_web(Library(index, self.hub, limiter))
                if handle_signals:
                    background.start_soon(self._watch_signals)
                for station in self._stations.values():
                    background.start_soon(station.run)
                if self._fanout is not None:
                    background.start_soon(self._fanout.run)
                background.start_soon(self._feed_watchdog)
                url = f"http://{_printable_host(config.server.host)}:{self.port}"
                self._log.info("listening", url=url, stations=sorted(self._stations), version=__version__)
                # Ready to be asked. Which folders have been looked at is what `/readyz` says: a share can take long.
                systemd.notify("READY=1", f"STATUS=watching {len(self._stations)} stations")
                task_status.started(self.port)
                await web.serve(listeners, self._stop, grace_seconds=GRACE_SECONDS)
                background.cancel_scope.cancel()
        self._log.info("stopped", **self._final_figures())

    # -- what the web room asks (`web.stations.Stations`) -----------------------------------------------------------

    def stations(self) -> list[dict[str, Any]]:
        """All stations."""
        return [station.describe() for station in self._stations.values()]

    def station(self, station: str) -> dict[str, Any] | None:
        """One station with its recordings."""
        known = self._stations.get(station)
        return None if known is None else {**known.describe(), "recordings": known.recordings()}

    def not_ready(self) -> list[str]:
        """Stations whose folder is missing or was not searched yet, and a broker that is away."""
        missing = [f"station {s.id}: {s.describe()['reason']}" for s in self._stations.values() if not s.ready]
        broker = None if self._fanout is None else self._fanout.problem
        return missing if broker is None else [*missing, broker]

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
            return open_database(folder / FILE_NAME, on_damage=warn)
        except (OSError, sqlite3.Error) as error:
            if store.folder:
                raise ConfigError("configuration", "store.folder", f"cannot be used: {error}") from error
            self._log.warning("game index is kept for this run alone", folder=str(folder), what=str(error))
        folder = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="slpstream-")))
        return open_database(folder / FILE_NAME)

    def _make_stations(self, watcher: Watcher, index: GameIndex, limiter: trio.CapacityLimiter) -> None:
        watch, stream = self._config.watch, self._config.stream
        for wanted in self._station_configs:
            folder = Path(wanted.folder).expanduser()
            station = Station(
                wanted.id,
                folder,
                name=wanted.name,
                hints=watcher.watch(folder),
                metrics=self.metrics.station(wanted.id),
                limiter=limiter,
                poll_seconds=watch.poll_seconds,
                scan_seconds=watch.scan_seconds,
                stalled_seconds=watch.stalled_seconds,
                idle_seconds=watch.idle_seconds,
                pace=watch.pace,
                ring_bytes=stream.ring_bytes,
                index=index,
            )
            self._stations[wanted.id] = station
            self.hub.add(station.channel)

    def _make_fanout(self) -> RedisSink:
        fanout, metrics = self._config.fanout, self.metrics
        address = broker_address(fanout)
        from slpstream.sinks.redis import RedisSink  # noqa: PLC0415

        return RedisSink(
            address,
            fanout.event,
            lambda: self.hub.channels,
            max_messages=fanout.max_messages,
            max_age_seconds=fanout.max_age_minutes * 60,
            on_sent=lambda station, count: metrics.broker_sent.labels(station).inc(count),
            on_reconnect=metrics.broker_reconnects.inc,
        )

    def _make_web(self, library: Library) -> WebServer:
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
            on_request=lambda status: metrics.requests.labels(str(status)).inc(),
        )

    def register_gauges(self) -> None:
        """The figures that are asked for at each scrape."""

        def per_station(attribute: str) -> Any:
            return lambda: [(s.id, float(getattr(s, attribute))) for s in self._stations.values()]

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
        gauge("slpstream_indexed_games", "Games in the index.", None, self._indexed)
        gauge("slpstream_index_waiting_files", "Old replays that the index has not looked at yet.", None, self._waiting)
        gauge("slpstream_queued_bytes", "What waits for slow clients.", None, self._queued)
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
        return [(s.id, float(s.state == "playing")) for s in self._stations.values()]

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

    async def _watch_signals(self) -> None:
        wanted = [signal.SIGTERM, signal.SIGINT] if sys.platform != "win32" else [signal.SIGINT]
        with trio.open_signal_receiver(*wanted) as signals:
            async for number in signals:
                self._log.info("stopping", signal=signal.Signals(number).name)
                systemd.notify("STOPPING=1")
                self._stop.set()

    async def _feed_watchdog(self) -> None:
        """From the event loop itself, so that a stuck loop is noticed."""
        interval_seconds = systemd.watchdog_interval_seconds()
        if interval_seconds is None:
            return
        while True:
            systemd.notify("WATCHDOG=1")
            await trio.sleep(interval_seconds)


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


def access_of(config: Config) -> Access:
    """Who may come in. Raises `ConfigError`."""
    server = config.server
    token = _token(server.token_file)
    if token is None and (server.require_token or not is_loopback(server.host)):
        raise ConfigError("configuration", "server.token_file", f"listening on {server.host} needs a token")
    return Access(token, server.require_token, tuple(server.allowed_origins), tuple(server.allowed_hosts))


def _token(token_file: str) -> str | None:
    path = Path(token_file) if token_file else systemd.credential("token")
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError("configuration", "server.token_file", f"cannot be read: {error}") from error
    token = text.split("\n", 1)[0].strip()
    if not token:
        raise ConfigError("configuration", "server.token_file", "the first line is empty")
    return token


def broker_address(fanout: Fanout) -> Address:
    """Where the broker is. What speaks to it is an extra, and loaded by those alone who have one. Raises
    `ConfigError`."""
    if find_spec("coredis") is None:
        raise ConfigError("configuration", "fanout.url", "takes the extra: pip install 'slpstream[fanout]'")
    from slpstream.sinks.broker import address_of  # noqa: PLC0415

    return address_of(fanout.url, fanout.password_file, fanout.ca_file)


def _folder(configured: str) -> Path | None:
    return Path(configured).expanduser() if configured else None


def _printable_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host
