"""`slpstream gateway`: serve the stations of an event from the broker, with the interface of the daemon."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from slpstream.cli import config_error_context
from slpstream.cli.service_options import address_options, config_option, load_config, log_options, strict_option
from slpstream.model.errors import ConfigError
from slpstream.parts.fanout.part import Fanout
from slpstream.system import logs


@click.command()
@config_option
@click.option("--url", help="URL of the broker. Overrides `fanout.url`.")
@click.option("--event", help="Name of the event. Overrides `fanout.event`.")
@address_options
@strict_option
@log_options
def command(
    config_file: Path | None,
    url: str | None,
    event: str | None,
    host: str | None,
    port: int | None,
    strict: bool,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """Serve the stations of an event from the broker, with the websocket and HTTP interface of the daemon.

    Gateways are stateless, and any number of them can run side by side. A gateway reads the sections `[fanout]`,
    `[server]`, `[stream]`, `[web]` and `[log]` of the configuration.
    """
    from slpstream.daemon.service import access_of, run_process
    from slpstream.parts.fanout.configured import broker_address

    config = load_config(
        config_file,
        server={"host": host, "port": port},
        log={"format": log_format, "level": log_level},
    )
    given = {key: value for key, value in (("url", url), ("event", event)) if value is not None}
    fanout = msgspec.structs.replace(config.section(Fanout), **given)
    config = msgspec.structs.replace(config, parts={**config.parts, "fanout": [fanout]})
    logs.configure(config.log.format, config.log.level)
    with config_error_context(config_file):
        if not fanout.url:
            raise ConfigError("configuration", "fanout.url", "required for a gateway, here or with --url")
        address = broker_address(fanout)
        access = access_of(config.server)
    from slpstream.parts.fanout.gateway.gateway import Gateway  # needs an extra, which `broker_address` has checked

    run_process(Gateway(config, address, access, strict=strict).run)
