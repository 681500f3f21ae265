"""The gateway. It puts the stations that are read from the broker and the web server together to one service."""

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
from slpstream.stream.channel import Hub
from slpstream.system.logs import get_logger
from slpstream.web.access import Access
from slpstream.web.schemas import Reloaded

_ELSEWHERE = "a gateway cannot correct sets: correct it at the daemon of the station"


class Gateway:
    """One gateway. Call `run` once."""

    def __init__(self, config: Config, address: Address, access: Access, *, strict: bool = False) -> None:
        """With `strict`, a bug ends the whole gateway. Otherwise, it only ends the part where it happens."""
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
        """Run until the process gets a signal."""
        service = self.service
        with service.listening():
            async with service.background(handle_signals=True) as background:
                background.start_soon(self.errors.keep_running, "broker", self.feed.run)
                await service.serve(self._web)
        self._log.info("stopped")

    def stations(self) -> list[dict[str, Any]]:
        """Return all stations (see `web.stations.Stations`)."""
        return [station.describe() for station in self.feed.stations.values()]

    def station(self, station: str) -> dict[str, Any] | None:
        """Return one station, but without files. If it doesn't exist, this returns `None`."""
        known = self.feed.stations.get(station)
        return None if known is None else {**known.describe(), "recordings": []}

    async def remove_discovered(self, station: str) -> bool:
        """Do nothing, because a gateway doesn't discover consoles."""
        return False

    async def reload(self) -> Reloaded | None:
        """Do nothing, because a gateway doesn't read its configuration again."""
        return None

    async def set_of(self, station: str) -> SetScore | None:
        """Return the set that the daemon of the given station has published last, or `None` if it hasn't
        published any.
        """
        known = self.feed.stations.get(station)
        message = None if known is None else known.channel.set_message()
        try:
            return None if message is None else msgspec.convert(message, SetScore)
        except msgspec.ValidationError:
            return None  # other programs can write to the broker too

    async def correct_set(
        self, station: str, patch: SetPatch, is_current: Callable[[SetScore], bool], by: str
    ) -> SetScore | None:
        """Raise `StoreError`, because a gateway doesn't store anything."""
        raise StoreError(_ELSEWHERE)

    async def set_changes(self, station: str) -> Sequence[Change]:
        """Raise `StoreError`, because a gateway doesn't store anything."""
        raise StoreError(_ELSEWHERE)

    async def undo_set_change(self, station: str, change_id: int, by: str) -> SetScore:
        """Raise `StoreError`, because a gateway doesn't store anything."""
        raise StoreError(_ELSEWHERE)

    def not_ready(self) -> list[str]:
        """Return the reasons why nothing arrives from the broker.

        If the daemon of a station is silent, this doesn't count as one.
        """
        problem = self.feed.problem
        return [*([] if problem is None else [problem]), *self.feed.failed(), *self.errors.restarting()]

    def starting(self) -> list[str]:
        """Return nothing, because only the daemons know whether their stations are starting."""
        return []

    def render_metrics(self, names: Collection[str] = ()) -> bytes:
        """Return the Prometheus page, or only the samples with certain names."""
        return self.metrics.render(names)

    def _bind_gauges(self) -> None:
        """Export the gauges of a gateway, in the same order as on the page."""
        metrics, hub, web = self.metrics, self.hub, self._web
        metrics.bind("slpstream_broker_connected", lambda: float(self.feed.connected))
        metrics.bind_each(
            "slpstream_subscribers",
            lambda: {name: channel.subscribers for name, channel in list(hub.channels.items())},
        )
        metrics.bind("slpstream_websockets", lambda: web.websockets)
        metrics.bind("slpstream_obs_websockets", lambda: web.obs_websockets)
        metrics.bind("slpstream_event_streams", lambda: web.event_streams)
        metrics.bind("slpstream_queued_bytes", lambda: web.queued_bytes)
