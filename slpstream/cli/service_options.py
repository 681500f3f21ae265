"""Options that the commands `serve` and `gateway` share, and the configuration that results from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from slpstream import config as configuration
from slpstream.config import Config

F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option(
    "--config", "config_file", type=click.Path(path_type=Path), help="Configuration file (TOML)."
)
_ADDRESS = (
    click.option("--host", help="Address to listen on."),
    click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one."),
)
_LOG = (
    click.option("--log-format", type=click.Choice(["auto", "json", "console"]), help="How log lines look."),
    click.option(
        "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="The least level shown."
    ),
)


def address_options(command: F) -> F:
    """`--host` and `--port`."""
    return _with(command, _ADDRESS)


def log_options(command: F) -> F:
    """`--log-format` and `--log-level`."""
    return _with(command, _LOG)


def _with(command: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def configured(file: Path | None, **sections: dict[str, Any]) -> Config:
    """The configuration of a file, or the default one, with the options that were given; `None` means not given.

    `sections` are keys and values by section. Raises `ConfigError`.
    """
    config = configuration.load(file) if file is not None else Config()
    changed = {
        section: msgspec.structs.replace(
            getattr(config, section), **{key: value for key, value in keys.items() if value is not None}
        )
        for section, keys in sections.items()
    }
    return msgspec.structs.replace(config, **changed)
