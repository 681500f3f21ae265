"""Checks of `[fanout]`."""

from __future__ import annotations

import re
from urllib.parse import SplitResult

from slpstream.config.checks import check_readable
from slpstream.config.sections import Config
from slpstream.config.urls import check_url
from slpstream.model.errors import ConfigError
from slpstream.parts.fanout.part import Fanout

_BROKERS = ("redis", "rediss", "redis+cluster", "rediss+cluster")
_EXPECTED_BROKER = (
    "expected scheme://user:password@host:port/db, where the scheme is redis, rediss, redis+cluster or rediss+cluster"
)


def check(config: Config, file: str) -> None:
    """Check the section. If there's a problem, this raises a `ConfigError` that mentions `file`."""
    fanout = config.section(Fanout)
    if fanout.url:
        check_broker_url(fanout.url, file)
    for name in ("password_file", "ca_file"):
        check_readable(getattr(fanout, name), file, f"fanout.{name}")
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", fanout.event):
        raise ConfigError(file, "fanout.event", f"expected letters, digits, `.`, `_`, `-`; found {fanout.event!r}")


def check_broker_url(url: str, file: str = "configuration") -> SplitResult:
    """Parse the URL of a broker, which is `fanout.url`. Raises `ConfigError` if it is wrong."""
    parts = check_url(url, _BROKERS, file, "fanout.url", expected=_EXPECTED_BROKER)
    database = parts.path.strip("/")
    if database and not re.fullmatch(r"[0-9]{1,9}", database):
        raise ConfigError(file, "fanout.url", _EXPECTED_BROKER)
    if int(database or 0) and parts.scheme.endswith("+cluster"):
        raise ConfigError(file, "fanout.url", "a cluster has only database 0")
    return parts
