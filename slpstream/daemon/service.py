"""The life cycle of a service: its listening sockets, signals, systemd, and the upkeep of its process.

Only the things that everything shares can end the process: the listening sockets, the event loop, the signals and the
watchdog. Bugs in all other parts are contained (see `system.internal_errors`).

Both the daemon and the gateway are services. A service starts by opening its listening sockets. Then it starts its
parts, and finally it reports `READY=1`. To stop it, send SIGTERM or SIGINT, or call `Service.stop`. It will stop
listening, close all websockets with code 1001 within `GRACE_SECONDS`, and cancel the background tasks.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
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
from slpstream.stream.channel import Hub
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
_ALL_GARBAGE_SECONDS = 600
_NEW_OBJECTS = 10_000
"""Python collects new objects on its own once so many more were made than freed."""
_NEVER = 1_000_000_000
_SWITCH_SECONDS = 0.0002
"""How long a worker thread may keep the interpreter while the event loop is waiting for it.

Python's default is 5 ms. A frame on its way through the daemon could lose that much time in each of several system
calls.
"""
_M_ARENA_MAX = -8


class Service:
    """A service with its sockets, its signals and its reports to systemd."""

    def __init__(
        self,
        server: Server,
        status: Callable[[], str],
        errors: InternalErrors,
        *,
        reload: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`status` returns the line that systemd shows.

        On SIGHUP, `reload` is called. Without `reload`, this signal stops the service, unless the process was started
        with SIGHUP ignored, as it happens under nohup.
        """
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
        """The number of tasks in the event loop. It is counted every second, because metrics are rendered in a thread,
        which can't count tasks itself."""

    @property
    def port(self) -> int:
        """The port that we listen on, or 0 before `listening`."""
        return self._listeners[0].getsockname()[1] if self._listeners else 0

    def stop(self) -> None:
        """Begin the orderly stop."""
        self._stop.set()

    async def stopping(self) -> None:
        """Wait until the orderly stop has begun."""
        await self._stop.wait()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hold the listening sockets open. Raises `ConfigError` if we can't listen there."""
        try:
            self._listeners = listen(self._host, self._port)
        except (OSError, OverflowError) as error:
            what = error.strerror if isinstance(error, OSError) else str(error)
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                what = (
                    "another program has this port. If it is slpstream, `slpstream start` shows its dashboard. To use "
                    f"another port, pass --port {self._port % 65535 + 1}"
                )
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
        """Open a nursery for the parts of the service. It is cancelled when the block ends."""
        async with trio.open_nursery() as nursery:
            if handle_signals:
                await nursery.start(self._watch_signals)
            yield nursery
            nursery.cancel_scope.cancel()

    async def serve(
        self, web: WebServer, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED, **log_fields: object
    ) -> None:
        """Report READY, and serve until the stop. You have to start all parts before that.

        `task_status` receives the port.
        """
        async with trio.open_nursery() as upkeep:
            upkeep.start_soon(self._ping_watchdog)
            upkeep.start_soon(self._errors.keep_running, "upkeep", self._keep_tidy)
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
        """Reload whenever SIGHUP has arrived.

        This is a separate task, because reloading takes seconds if a file server hangs, and the task that receives the
        signals must not wait for that.
        """
        while True:
            await self._hung_up.wait()
            self._hung_up = trio.Event()
            systemd.notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            with self._errors.contain("reload"):
                await reload()
            systemd.notify("READY=1", f"STATUS={self._status()}")

    async def _ping_watchdog(self) -> None:
        """Ping systemd from the event loop, so that systemd notices if the loop is stuck."""
        interval_seconds = systemd.watchdog_interval_seconds()
        while interval_seconds is not None:
            systemd.notify("WATCHDOG=1")
            await trio.sleep(interval_seconds)

    async def _keep_tidy(self) -> None:
        """Count the tasks, and collect reference cycles: often among the new objects, and rarely among all.

        The event loop stands still while the collector visits objects. Left alone, it visits the new ones only after
        many more objects were made than freed. While connections come and go, a hundred thousand are new by then.
        """
        while True:
            for _ in range(_ALL_GARBAGE_SECONDS):
                self.tasks = trio.lowlevel.current_statistics().tasks_living
                await trio.sleep(1)
                gc.collect(0)
            gc.collect()


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
    """Make the web server of a service, with its limits and counters."""
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
    """Return the containment for the bugs of a service, which counts them in its metrics.

    With `strict`, a bug ends the process.
    """
    return InternalErrors(lambda part: metrics.counter("slpstream_internal_errors_total", part).inc(), strict=strict)


def limits_of(config: Config) -> Limits:
    """Return the limits of the web server."""
    return Limits(config.server.max_connections, config.stream.outbox_bytes, config.stream.socket_buffer_bytes)


def access_of(server: Server) -> Access:
    """Return the access rules. Raises `ConfigError` if a token is missing or can't be read."""
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
    """Return the first line of a token file, or else of systemd's credential with this name.

    Returns `None` if there is neither.
    """
    path = Path(token_file) if token_file else systemd.credential(credential)
    if path is None:
        return None
    return read_secret(path, f"server.{credential}_file")


def _collect_garbage_rarely() -> None:
    """Limit the collections that Python begins on its own to new objects.

    Visiting all takes a quarter of a second with five thousand connections, and most objects are freed without it.
    Games and connections don't have any reference cycles (there is a test for this), so there is little to collect, and
    all of it comes from libraries. The objects from the start are kept for ever. Three in a hundred of them are
    garbage, but finding these would take a tenth of the time of a start.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _NEVER, _NEVER)


def _limit_malloc_arenas() -> None:
    """Make all threads share one heap.

    glibc makes up to eight heaps per core for threads, and memory that is freed in one heap is not reused by the
    others. This lets a process that runs for long grow for days. Sharing a heap costs us little, because our threads
    rarely run at the same time.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # a libc without mallopt
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
