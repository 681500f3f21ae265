"""`slpstream gateway`: the daemon's interface, served from the broker."""

from __future__ import annotations

from pathlib import Path

import click

from slpstream.cli.service_options import address_options, config_option, configured, log_options
from slpstream.model.errors import ConfigError
from slpstream.system import logs


@click.command()
@config_option
@click.option("--url", help="URL of the broker, instead of `fanout.url`.")
@click.option("--event", help="Name of the event, instead of `fanout.event`.")
@address_options
@log_options
def command(
    config_file: Path | None,
    url: str | None,
    event: str | None,
    host: str | None,
    port: int | None,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """Serves the stations of an event from the broker: websocket and HTTP as the daemon has them.

    Any number of gateways can run beside each other; none keeps anything. Of the configuration it reads `[fanout]`,
    `[server]`, `[stream]`, `[web]` and `[log]`.
    """
    from slpstream.daemon.fanout import broker_address
    from slpstream.daemon.service import access_of, run_process

    config = configured(
        config_file,
        fanout={"url": url, "event": event},
        server={"host": host, "port": port},
        log={"format": log_format, "level": log_level},
    )
    logs.configure(config.log.format, config.log.level)
    name = "configuration" if config_file is None else str(config_file)
    try:
        if not config.fanout.url:
            raise ConfigError(name, "fanout.url", "a gateway needs a broker: set it here, or with --url")
        address = broker_address(config.fanout)
        access = access_of(config.server)
    except ConfigError as error:
        raise ConfigError(name, error.key, error.expected) from error
    from slpstream.daemon.gateway.gateway import Gateway  # needs the extra, which `broker_address` checks for

    run_process(Gateway(config, address, access).run)
