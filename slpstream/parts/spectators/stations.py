"""Those stations of a daemon that are recorded from Dolphin or served to its spectators.

Most stations aren't, so we only import the modules for it when the first of them needs this.
"""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING

import structlog
import trio

from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import DolphinSpectators
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.config import StationConfig
    from slpstream.daemon.station.station import Station
    from slpstream.parts.spectators.dolphin import DolphinSource
    from slpstream.sources.console.feed import RelayFeed
    from slpstream.sources.console.reconnect import ConnectionObserver
    from slpstream.sources.console.recorder import Recorder
    from slpstream.sources.console.turns import Turns
    from slpstream.stream import Channel

_RETRY_SECONDS = 5.0
_RESENT_PACKETS = "slpstream_relay_resent_packets_total"


class SpectatedStations(RunningPart):
    """Provides `DolphinSpectators` to the stations."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._log = get_logger()
        host.provide(DolphinSpectators, self)

    async def follow(self, channel: Channel) -> None:
        """Export the counter of a station, beginning with its start."""
        self._host.metrics.counter(_RESENT_PACKETS, channel.station)

    def is_available(self) -> bool:
        """Whether you have installed the library that is needed to record Dolphins."""
        return importlib.util.find_spec("enet") is not None

    def source(
        self, host: str, port: int, recorder: Recorder, observer: ConnectionObserver, turns: Turns
    ) -> DolphinSource:
        """Return a source that records the Dolphin at an address."""
        from slpstream.parts.spectators.dolphin import DolphinSource  # noqa: PLC0415 -- see above

        return DolphinSource(host, port, recorder, observer, turns=turns)

    async def serve(self, config: StationConfig, station: Station, feed: RelayFeed) -> None:
        """Serve the port of a station to spectators until cancelled.

        If another program is using the port, this tries it again.
        """
        from slpstream.parts.spectators import history, server  # noqa: PLC0415 -- see above

        structlog.contextvars.bind_contextvars(station=station.id)
        messages = history.SpectatorHistory(feed)
        relay = self._host.config.relay
        spectators = server.SpectatorServer(
            messages,
            station.name,
            relay.max_clients,
            contain=partial(self._host.errors.contain, "relay"),
            count_resent=self._host.metrics.counter(_RESENT_PACKETS, station.id).inc,
        )
        port, reported = config.relay_enet_port, ""
        with self._host.consoles.counted(station.id, lambda: spectators.clients):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(messages.run)
                while True:
                    try:
                        socket = await server.open_socket(relay.host, port)
                    except OSError as error:
                        if str(error) != reported:
                            reported = str(error)
                            self._log.error("cannot listen on relay port", port=port, host=relay.host, what=reported)
                        await trio.sleep(_RETRY_SECONDS)
                    else:
                        self._log.info("relay listening", port=port, host=relay.host, protocol="ENet")
                        with socket:
                            await spectators.run(socket)
