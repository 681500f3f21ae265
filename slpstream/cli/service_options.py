"""The options that `serve` and `gateway` share, and the configuration that results from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from slpstream.config import Config
from slpstream.parts import registry

F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option(
    "--config", "config_file", type=click.Path(path_type=Path), help="Configuration file (TOML)."
)
_ADDRESS = (
    click.option("--host", help="Address to listen on."),
    click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on. 0 picks a free one."),
)
_LOG = (
    click.option("--log-format", type=click.Choice(["auto", "json", "console"]), help="Format of log lines."),
    click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="Lowest level to log."),
)


strict_option = click.option(
    "--strict",
    is_flag=True,
    help="Let an internal error end the process. By default it ends only the request, file or output that it is in.",
)


def address_options(command: F) -> F:
    """Add `--host` and `--port` to a command."""
    return _add_options(command, _ADDRESS)


def log_options(command: F) -> F:
    """Add `--log-format` and `--log-level` to a command."""
    return _add_options(command, _LOG)


def _add_options(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def load_config(file: Path | None, **sections: dict[str, Any]) -> Config:
    """Load a configuration (by default the built-in one), and override keys with options of the command line.

    `sections` maps the name of a section to the values of its keys. `None` leaves a key as it is. Raises `ConfigError`
    if the configuration isn't valid.
    """
    config = registry.load(file) if file is not None else Config()
    changed = {
        section: msgspec.structs.replace(
            getattr(config, section), **{key: value for key, value in keys.items() if value is not None}
        )
        for section, keys in sections.items()
    }
    return msgspec.structs.replace(config, **changed)
