"""The gateway: stations read from the broker, and the web server, put together as one service."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from slpstream.config import Config
from slpstream.daemon.service import Service, contain_errors, make_web_server
from slpstream.model.errors import StoreError
from slpstream.parts import registry
from slpstream.parts.fanout.connection import Address
from slpstream.parts.fanout.gateway.feed import Feed
from slpstream.parts.fanout.gateway.games import BrokerGames
from slpstream.parts.fanout.part import Fanout
from slpstream.sets import Change, SetPatch, SetScore
from slpstream.stream import Hub
from slpstream.system.logs import get_logger
from slpstream.web.access import Access
from slpstream.web.schemas import Reloaded

_ELSEWHERE = "a gateway cannot correct sets: correct it at the daemon of the station"


class Gateway:
    """One gateway. Call `run` once."""

    def __init__(self, config: Config, address: Address, access: Access, *, strict: bool = False) -> None:
        """With `strict`, a bug ends the gateway and not only the part that it is in."""
        self.metrics = metrics = registry.metrics()
        self.errors = contain_errors(metrics, strict=strict)
        self.service = Service(config.server, lambda: "gateway", self.errors)
        self.hub = Hub()
        self.feed = Feed(
            address,
            config.section(Fanout).event,
            self.hub,
            ring_bytes=config.stream.ring_bytes,
            on_received=metrics.counter("slpstream_broker_received_messages_total").inc,
            on_reconnect=metrics.counter("slpstream_broker_reconnects_total").inc,
            errors=self.errors,
        )
        games = BrokerGames(lambda: self.feed.stations, config.search.me)
        self._web = make_web_server(config, self.hub, self, games, access, metrics, self.errors)
        self._bind_gauges()
        self._log = get_logger()

    async def run(self) -> None:
        """Runs until a signal."""
        service = self.service
        with service.listening():
            async with service.background(handle_signals=True) as background:
                background.start_soon(self.errors.keep_running, "broker", self.feed.run)
                await service.serve(self._web)
        self._log.info("stopped")

    def stations(self) -> list[dict[str, Any]]:
        """All stations, see `web.stations.Stations`."""
        return [station.describe() for station in self.feed.stations.values()]

    def station(self, station: str) -> dict[str, Any] | None:
        """One station, without files; `None` if it does not exist."""
        known = self.feed.stations.get(station)
        return None if known is None else {**known.describe(), "recordings": []}

    async def remove_discovered(self, station: str) -> bool:
        """A gateway discovers no consoles."""
        return False

    async def reload(self) -> Reloaded | None:
        """A gateway does not read its configuration again."""
        return None

    async def set_of(self, station: str) -> SetScore | None:
        """The set that a station's daemon published last; `None` if it has published none."""
        known = self.feed.stations.get(station)
        message = None if known is None else known.channel.set_message()
        try:
            return None if message is None else msgspec.convert(message, SetScore)
        except msgspec.ValidationError:
            return None  # other programs can write to the broker too

    async def correct_set(
        self, station: str, patch: SetPatch, is_current: Callable[[SetScore], bool], by: str
    ) -> SetScore | None:
        """Raises `StoreError`: a gateway stores nothing."""
        raise StoreError(_ELSEWHERE)

    async def set_changes(self, station: str) -> Sequence[Change]:
        """Raises `StoreError`: a gateway stores nothing."""
        raise StoreError(_ELSEWHERE)

    async def undo_set_change(self, station: str, change_id: int, by: str) -> SetScore:
        """Raises `StoreError`: a gateway stores nothing."""
        raise StoreError(_ELSEWHERE)

    def not_ready(self) -> list[str]:
        """Why nothing arrives from the broker. A station whose daemon is silent does not make the gateway unready."""
        problem = self.feed.problem
        return [*([] if problem is None else [problem]), *self.feed.failed(), *self.errors.restarting()]

    def starting(self) -> list[str]:
        """Always empty: the daemons of the stations know whether these are starting."""
        return []

    def render_metrics(self, names: Collection[str] = ()) -> bytes:
        """The Prometheus page, or only the samples with some names."""
        return self.metrics.render(names)

    def _bind_gauges(self) -> None:
        """Exports the gauges of a gateway, in the order of the page."""
        metrics, hub, web = self.metrics, self.hub, self._web
        metrics.bind("slpstream_broker_connected", lambda: float(self.feed.connected))
        metrics.bind_each(
            "slpstream_subscribers",
            lambda: {name: channel.subscribers for name, channel in list(hub.channels.items())},
        )
        metrics.bind("slpstream_websockets", lambda: web.websockets)
        metrics.bind("slpstream_event_streams", lambda: web.event_streams)
        metrics.bind("slpstream_queued_bytes", lambda: web.queued_bytes)
