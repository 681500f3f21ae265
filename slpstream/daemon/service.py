"""The life cycle of a service: listening sockets, signals, systemd, and the upkeep of its process.

Only the shared parts can end the process: the listening sockets, the event loop, signals and the watchdog. Bugs in any
other part are contained (`system.internal_errors`).

The daemon and the gateway are both services. Start: listening sockets, then the parts of the service, then `READY=1`.
Stop (SIGTERM, SIGINT or `Service.stop`): listening ends, websockets are closed with code 1001 within `GRACE_SECONDS`,
and background tasks are cancelled.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import trio

from slpstream.config import Config, Server, is_loopback, read_secret
from slpstream.formats.registry import name_folders
from slpstream.model.errors import ConfigError
from slpstream.model.version import __version__
from slpstream.parts import registry
from slpstream.stream import Hub
from slpstream.system import systemd
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics
from slpstream.web.access import Access
from slpstream.web.endpoint import Endpoint
from slpstream.web.games import Games
from slpstream.web.observer import Observer
from slpstream.web.server import Limits, WebServer, listen
from slpstream.web.site import Site
from slpstream.web.stations import Stations

GRACE_SECONDS = 3.0
_COUNT_SECONDS = 1.0
_GARBAGE_SECONDS = 600.0
_GARBAGE_THRESHOLDS = (10_000, 5, 5_000)
_SWITCH_SECONDS = 0.0002
"""How long a worker thread keeps the interpreter while the event loop waits for it. With Python's default of 5 ms, a
frame on its way through the daemon can lose this time at each of several system calls."""
_M_ARENA_MAX = -8


class Service:
    """One service: its sockets, its signals and its reports to systemd."""

    def __init__(
        self,
        server: Server,
        status: Callable[[], str],
        errors: InternalErrors,
        *,
        reload: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`status` returns the line that systemd shows. SIGHUP calls `reload`. Without `reload`, it stops the service,
        unless the process was started with SIGHUP ignored, as under nohup."""
        self._host = server.host
        self._port = server.port
        self._status = status
        self._errors = errors
        self._reload = reload
        self._listeners: list[socket.socket] = []
        self._stop = trio.Event()
        self._hung_up = trio.Event()
        self._log = get_logger()
        self.tasks = 0
        """Tasks of the event loop, counted every second: metrics are rendered in a thread, which cannot count them."""

    @property
    def port(self) -> int:
        """The listening port; 0 before `listening`."""
        return self._listeners[0].getsockname()[1] if self._listeners else 0

    def stop(self) -> None:
        """Begin the orderly stop."""
        self._stop.set()

    async def stopping(self) -> None:
        """Wait until the orderly stop has begun."""
        await self._stop.wait()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hold the listening sockets open. Raises `ConfigError`."""
        try:
            self._listeners = listen(self._host, self._port)
        except (OSError, OverflowError) as error:
            what = error.strerror if isinstance(error, OSError) else str(error)
            raise ConfigError(
                "server", "host and port", f"cannot listen on {self._host}:{self._port}: {what}"
            ) from error
        try:
            yield
        finally:
            for listener in self._listeners:
                listener.close()
            self._listeners = []

    @asynccontextmanager
    async def background(self, *, handle_signals: bool) -> AsyncIterator[trio.Nursery]:
        """A nursery for the parts of the service, cancelled when the block ends."""
        async with trio.open_nursery() as nursery:
            if handle_signals:
                await nursery.start(self._watch_signals)
            yield nursery
            nursery.cancel_scope.cancel()

    async def serve(
        self, web: WebServer, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED, **log_fields: object
    ) -> None:
        """Report READY and serve until the stop. All parts have started before. `task_status` receives the port."""
        async with trio.open_nursery() as upkeep:
            upkeep.start_soon(self._ping_watchdog)
            for run in (self._count_tasks, _collect_garbage):
                upkeep.start_soon(self._errors.keep_running, "upkeep", run)
            if self._reload is not None:
                upkeep.start_soon(self._reload_on_hangup, self._reload)
            host = f"[{self._host}]" if ":" in self._host else self._host
            self._log.info("listening", url=f"http://{host}:{self.port}", **log_fields, version=__version__)
            # READY means that requests are answered. `/readyz` reports whether all folders were searched, which takes
            # long on some network shares, and whether the broker answers.
            systemd.notify("READY=1", f"STATUS={self._status()}")
            task_status.started(self.port)
            await web.serve(self._listeners, self._stop, grace_seconds=GRACE_SECONDS)
            upkeep.cancel_scope.cancel()

    async def _watch_signals(self, *, task_status: trio.TaskStatus[None]) -> None:
        wanted = [signal.SIGINT]
        hangup: signal.Signals | None = None
        if sys.platform != "win32":
            wanted.append(signal.SIGTERM)
            hangup = signal.SIGHUP
            if self._reload is not None or signal.getsignal(hangup) is not signal.SIG_IGN:
                wanted.append(hangup)
        with trio.open_signal_receiver(*wanted) as signals:
            task_status.started()
            async for number in signals:
                if number == hangup and self._reload is not None:
                    self._hung_up.set()
                    continue
                self._log.info("stopping", signal=signal.Signals(number).name)
                systemd.notify("STOPPING=1")
                self._stop.set()

    async def _reload_on_hangup(self, reload: Callable[[], Awaitable[None]]) -> None:
        """Reload in another task than the one that receives signals: it takes seconds when a file server hangs."""
        while True:
            await self._hung_up.wait()
            self._hung_up = trio.Event()
            systemd.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            with self._errors.contain("reload"):
                await reload()
            systemd.notify("READY=1", f"STATUS={self._status()}")

    async def _ping_watchdog(self) -> None:
        """Ping systemd from the event loop, so that systemd notices when the loop is stuck."""
        interval_seconds = systemd.watchdog_interval_seconds()
        while interval_seconds is not None:
            systemd.notify("WATCHDOG=1")
            await trio.sleep(interval_seconds)

    async def _count_tasks(self) -> None:
        while True:
            self.tasks = trio.lowlevel.current_statistics().tasks_living
            await trio.sleep(_COUNT_SECONDS)


def run_process(main: Callable[[], Awaitable[object]]) -> None:
    """Run a service as the only job of this process."""
    _limit_malloc_arenas()
    _collect_garbage_rarely()
    sys.setswitchinterval(_SWITCH_SECONDS)
    trio.run(main)


def make_web_server(
    config: Config,
    hub: Hub,
    stations: Stations,
    games: Games,
    access: Access,
    metrics: Metrics,
    errors: InternalErrors,
    more: Sequence[Endpoint] = (),
) -> WebServer:
    """Return the web server of a service, with its limits and counters."""
    folder = config.web.overlay_folder
    return WebServer(
        hub,
        stations,
        games,
        access=access,
        limits=limits_of(config),
        observer=Observer(
            on_request=lambda status: metrics.counter("slpstream_http_requests_total", str(status)).inc(),
            on_lagged=metrics.counter("slpstream_lagged_messages_total").inc,
            on_closed=lambda code: metrics.counter("slpstream_connections_closed_total", str(code)).inc(),
            on_dropped=lambda reason: metrics.counter("slpstream_connections_dropped_total", reason).inc(),
        ),
        errors=errors,
        site=Site(
            registry.pages(),
            make_routes=registry.page_routes,
            static_folders=registry.static_folders(),
            name_folders=name_folders(),
            overlay_folder=Path(folder).expanduser() if folder else None,
            claim_paths=registry.claim_paths(),
            describe=registry.function("describe_api"),
        ),
        more=more,
    )


def contain_errors(metrics: Metrics, *, strict: bool) -> InternalErrors:
    """Return the containment of a service's bugs, counted in its metrics. With `strict`, a bug ends the process."""
    return InternalErrors(lambda part: metrics.counter("slpstream_internal_errors_total", part).inc(), strict=strict)


def limits_of(config: Config) -> Limits:
    """Return the limits of the web server."""
    return Limits(config.server.max_connections, config.stream.outbox_bytes, config.stream.socket_buffer_bytes)


def access_of(server: Server) -> Access:
    """Return the access rules. Raises `ConfigError` for a token that is missing or cannot be read."""
    token = _read_token("token", server.token_file)
    operate_token = _read_token("operate_token", server.operate_token_file)
    if token is None and (server.require_token or not is_loopback(server.host)):
        raise ConfigError("configuration", "server.token_file", f"listening on {server.host} needs a token")
    if token is not None and token == operate_token:
        raise ConfigError("configuration", "server.operate_token_file", "must differ from the token for reading")
    return Access(
        token, operate_token, server.require_token, tuple(server.allowed_origins), tuple(server.allowed_hosts)
    )


def _read_token(credential: str, token_file: str) -> str | None:
    """Read the first line of a token file, or of systemd's credential of that name; `None` without either."""
    path = Path(token_file) if token_file else systemd.credential(credential)
    if path is None:
        return None
    return read_secret(path, f"server.{credential}_file")


async def _collect_garbage() -> None:
    """Collect reference cycles, rarely, because the event loop stops meanwhile. Games and connections have no cycles (a
    test checks it), so there is little to collect, all of it from libraries."""
    while True:
        await trio.sleep(_GARBAGE_SECONDS)
        gc.collect()


def _collect_garbage_rarely() -> None:
    """Make full garbage collections rare. A collection visits every object and stops the event loop meanwhile, for a
    quarter of a second with five thousand connections. Most objects are freed without it. Objects from start-up are
    kept for ever: three in a hundred are garbage, but finding them takes a tenth of the time of a start."""
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


def _limit_malloc_arenas() -> None:
    """Let all threads share one heap. glibc makes up to eight heaps per core for threads, and memory that is freed in
    one heap is not reused by the others, so a long-running process grows for days. Our threads rarely run at the same
    time."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # a libc without mallopt
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
