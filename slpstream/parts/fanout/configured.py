"""How a daemon uses the broker: its address, and the sink that sends all log messages to it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from slpstream.model.errors import ConfigError
from slpstream.parts.fanout.part import Fanout
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import DemoObjection

if TYPE_CHECKING:
    from slpstream.parts.fanout.connection import Address
    from slpstream.parts.fanout.sink import RedisSink


class Broker(RunningPart):
    """Sends the messages of all stations to the broker."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if you haven't installed the client library, which is an extra."""
        fanout, metrics = host.config.section(Fanout), host.metrics
        host.provide(DemoObjection, self)
        address = broker_address(fanout)
        from slpstream.parts.fanout.sink import RedisSink  # noqa: PLC0415 -- needs the extra

        self._sink: RedisSink = RedisSink(
            address,
            fanout.event,
            lambda: host.hub.channels,
            max_messages=fanout.max_messages,
            max_age_seconds=fanout.max_age_minutes * 60,
            on_sent=lambda station, count: metrics.counter("slpstream_broker_sent_messages_total", station).inc(count),
            on_reconnect=metrics.counter("slpstream_broker_reconnects_total").inc,
            errors=host.errors,
        )
        gauges: dict[str, Callable[[], bool]] = {
            "connected": lambda: self._sink.connected,
            "full": lambda: self._sink.max_kept is not None,
            "evicts": lambda: self._sink.evicts,
        }
        for name, read in gauges.items():
            metrics.bind(f"slpstream_broker_{name}", read)
        metrics.bind_each("slpstream_broker_lag_seconds", lambda: self._lag(0))
        metrics.bind_each("slpstream_broker_lag_bytes", lambda: self._lag(1))

    async def run(self) -> None:
        """Send until cancelled."""
        await self._sink.run()

    def not_ready(self) -> list[str]:
        """Return the reasons why the broker doesn't have everything."""
        return self._sink.problems()

    def reason_against_demo(self) -> str:
        """Gateways would show a demo like any other station."""
        return "the stations of this daemon are sent to a broker"

    def _lag(self, column: int) -> dict[str, float]:
        return {station: float(lag[column]) for station, lag in self._sink.lag().items()}


def broker_address(fanout: Fanout) -> Address:
    """Return the address of the broker. Raises `ConfigError` if something is wrong with it."""
    if find_spec("coredis") is None:
        raise ConfigError("configuration", "fanout.url", "needs the extra: pip install 'slpstream[fanout]'")
    from slpstream.parts.fanout.connection import address_of  # noqa: PLC0415 -- needs the extra

    return address_of(fanout.url, fanout.password_file, fanout.ca_file)
