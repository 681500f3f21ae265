"""Checks of `[seats]`."""

from __future__ import annotations

from slpstream.config.sections import Config
from slpstream.config.urls import check_url
from slpstream.model.errors import ConfigError
from slpstream.parts.seats.part import Seats

_HTTP = ("http", "https")


def check(config: Config, file: str) -> None:
    """Check the section. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    address = config.section(Seats).address
    if not address:
        return
    expected = "expected http:// or https:// with a host, and at most a port and a path"
    parts = check_url(address, _HTTP, file, "seats.address", expected=expected)
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigError(file, "seats.address", expected)
