"""The broker as the daemon uses it: where it is, and the sink that sends every log message to it.

The client library is an extra, so it is imported only by those who have configured a broker.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from slpstream.config import Fanout
from slpstream.model.errors import ConfigError
from slpstream.stream import Hub
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.metrics import Metrics

if TYPE_CHECKING:
    from slpstream.outputs.redis.connection import Address
    from slpstream.outputs.redis.sink import RedisSink


def broker_address(fanout: Fanout) -> Address:
    """The address of the broker. Raises `ConfigError`."""
    if find_spec("coredis") is None:
        raise ConfigError("configuration", "fanout.url", "needs the extra: pip install 'slpstream[fanout]'")
    from slpstream.outputs.redis.connection import address_of  # noqa: PLC0415

    return address_of(fanout.url, fanout.password_file, fanout.ca_file)


def make_sink(fanout: Fanout, hub: Hub, metrics: Metrics, errors: InternalErrors | None = None) -> RedisSink:
    """The sink that sends the messages of all stations to the broker. Raises `ConfigError`."""
    address = broker_address(fanout)
    from slpstream.outputs.redis.sink import RedisSink  # noqa: PLC0415

    return RedisSink(
        address,
        fanout.event,
        lambda: hub.channels,
        max_messages=fanout.max_messages,
        max_age_seconds=fanout.max_age_minutes * 60,
        on_sent=lambda station, count: metrics.counter("slpstream_broker_sent_messages_total", station).inc(count),
        on_reconnect=metrics.counter("slpstream_broker_reconnects_total").inc,
        errors=errors,
    )


def bind_gauges(metrics: Metrics, sink: RedisSink | None) -> None:
    """Exports the gauges of the broker. Without a sink nothing is connected and nothing lags."""

    def lag(part: int) -> dict[str, float]:
        return {} if sink is None else {station: float(behind[part]) for station, behind in sink.lag().items()}

    metrics.bind("slpstream_broker_connected", lambda: float(sink is not None and sink.connected))
    metrics.bind("slpstream_broker_full", lambda: float(sink is not None and sink.max_kept is not None))
    metrics.bind("slpstream_broker_evicts", lambda: float(sink is not None and sink.evicts))
    metrics.bind_each("slpstream_broker_lag_seconds", lambda: lag(0))
    metrics.bind_each("slpstream_broker_lag_bytes", lambda: lag(1))
