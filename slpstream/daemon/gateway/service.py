"""Where a gateway's parts are put together. Start: listening sockets, the feed, then READY. Stop as the daemon's."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import trio

from slpstream.config import Config
from slpstream.daemon.gateway.feed import Feed
from slpstream.daemon.gateway.games import BrokerGames
from slpstream.formats.registry import name_folders
from slpstream.model.errors import StoreError
from slpstream.model.version import __version__
from slpstream.outputs.redis.connection import Address
from slpstream.sets import SetPatch, SetScore
from slpstream.stream import Hub
from slpstream.system import systemd
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics
from slpstream.web.access import Access
from slpstream.web.server import WebServer

GRACE_SECONDS = 3.0


class Gateway:
    """One gateway. `run` it once; `stop` ends it."""

    def __init__(self, config: Config, address: Address, access: Access) -> None:
        stream, server, metrics = config.stream, config.server, Metrics()
        self.metrics = metrics
        self.hub = Hub()
        self._host = config.server.host
        self._log = get_logger()
        self._stop = trio.Event()
        self.feed = Feed(
            address,
            config.fanout.event,
            self.hub,
            ring_bytes=stream.ring_bytes,
            on_received=metrics.broker_received.inc,
            on_reconnect=metrics.broker_reconnects.inc,
        )
        self._web = WebServer(
            self.hub,
            self,
            BrokerGames(lambda: self.feed.stations),
            access,
            version=__version__,
            outbox_bytes=stream.outbox_bytes,
            socket_buffer_bytes=stream.socket_buffer_bytes,
            max_connections=server.max_connections,
            overlay_folder=Path(config.web.overlay_folder).expanduser() if config.web.overlay_folder else None,
            name_folders=name_folders(),
            on_lagged=metrics.lagged.inc,
            on_closed=lambda code: metrics.closed.labels(str(code)).inc(),
            on_dropped=lambda reason: metrics.dropped.labels(reason).inc(),
            on_request=lambda status: metrics.requests.labels(str(status)).inc(),
        )
        self._register_gauges()

    def stop(self) -> None:
        """Begins the orderly end."""
        self._stop.set()

    async def run(self, listeners: list[socket.socket], *, handle_signals: bool = True) -> None:
        """Runs until `stop` or a signal."""
        async with trio.open_nursery() as background:
            if handle_signals:
                background.start_soon(self._watch_signals)
            background.start_soon(self.feed.run)
            background.start_soon(self._feed_watchdog)
            host = f"[{self._host}]" if ":" in self._host else self._host
            self._log.info("listening", url=f"http://{host}:{listeners[0].getsockname()[1]}", version=__version__)
            # Ready to be asked. Whether the broker answers is what `/readyz` says.
            systemd.notify("READY=1", "STATUS=gateway")
            await self._web.serve(listeners, self._stop, grace_seconds=GRACE_SECONDS)
            background.cancel_scope.cancel()
        self._log.info("stopped")

    # -- what the web room asks (`web.stations.Stations`) ------------------------------------------------------------

    def stations(self) -> list[dict[str, Any]]:
        """All stations."""
        return [station.describe() for station in self.feed.stations.values()]

    def station(self, station: str) -> dict[str, Any] | None:
        """One station. Its files are elsewhere."""
        known = self.feed.stations.get(station)
        return None if known is None else {**known.describe(), "recordings": []}

    async def set_of(self, station: str) -> SetScore | None:
        """The newest set of a station, as its venue has told it; `None` when it has told none."""
        known = self.feed.stations.get(station)
        told = None if known is None else known.channel.set_message()
        try:
            return None if told is None else msgspec.convert(told, SetScore)
        except msgspec.ValidationError:
            return None  # others can write into the broker too

    async def correct_set(self, station: str, patch: SetPatch, may: Callable[[SetScore], bool]) -> SetScore | None:
        """Raises `StoreError`: a gateway keeps nothing."""
        raise StoreError("a gateway changes nothing: correct the set at its venue")

    def not_ready(self) -> list[str]:
        """Why nothing comes. A station whose ingest is silent does not make a gateway unfit."""
        return [] if self.feed.problem is None else [self.feed.problem]

    def render_metrics(self) -> bytes:
        """The Prometheus page."""
        return self.metrics.render()

    # -- the rest ----------------------------------------------------------------------------------------------------

    def _register_gauges(self) -> None:
        gauge, hub, web = self.metrics.gauge, self.hub, self._web
        gauge(
            "slpstream_broker_connected",
            "1 while the broker answers.",
            None,
            lambda: [("", float(self.feed.connected))],
        )
        gauge(
            "slpstream_subscribers",
            "Live subscribers.",
            "station",
            lambda: [(name, channel.subscribers) for name, channel in list(hub.channels.items())],
        )
        gauge("slpstream_websockets", "Open websockets.", None, lambda: [("", web.websockets)])
        gauge("slpstream_event_streams", "Open streams of server-sent events.", None, lambda: [("", web.event_streams)])
        gauge("slpstream_queued_bytes", "What waits for slow clients.", None, lambda: [("", web.queued_bytes)])

    async def _watch_signals(self) -> None:
        wanted = [signal.SIGTERM, signal.SIGINT] if sys.platform != "win32" else [signal.SIGINT]
        with trio.open_signal_receiver(*wanted) as signals:
            async for number in signals:
                self._log.info("stopping", signal=signal.Signals(number).name)
                systemd.notify("STOPPING=1")
                self._stop.set()

    async def _feed_watchdog(self) -> None:
        interval_seconds = systemd.watchdog_interval_seconds()
        while interval_seconds is not None:
            systemd.notify("WATCHDOG=1")
            await trio.sleep(interval_seconds)
