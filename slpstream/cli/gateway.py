"""`slpstream gateway`: the daemon's interface, fed from the broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec
import trio

from slpstream import config as configuration
from slpstream.config import Config
from slpstream.model.errors import ConfigError
from slpstream.system import logs


@click.command()
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Configuration file (TOML).")
@click.option("--url", help="Where the broker is, instead of `fanout.url`.")
@click.option("--event", help="Name of the event, instead of `fanout.event`.")
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.option("--log-format", type=click.Choice(["auto", "json", "console"]), help="How log lines look.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="The least level shown.")
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
    from slpstream.daemon.daemon import access_of, broker_address, listening

    config = configuration.load(config_file) if config_file is not None else Config()
    given: dict[str, dict[str, Any]] = {
        "fanout": {"url": url, "event": event},
        "server": {"host": host, "port": port},
        "log": {"format": log_format, "level": log_level},
    }
    changed = {
        section: msgspec.structs.replace(
            getattr(config, section), **{key: value for key, value in keys.items() if value is not None}
        )
        for section, keys in given.items()
    }
    config = msgspec.structs.replace(config, **changed)
    logs.configure(config.log.format, config.log.level)
    name = "configuration" if config_file is None else str(config_file)
    try:
        if not config.fanout.url:
            raise ConfigError(name, "fanout.url", "a gateway needs a broker: here, or as --url")
        address = broker_address(config.fanout)
        access = access_of(config)
    except ConfigError as error:
        raise ConfigError(name, error.key, error.expected) from error
    from slpstream.daemon.gateway.service import Gateway

    with listening(config.server.host, config.server.port) as listeners:
        trio.run(Gateway(config, address, access).run, listeners)
