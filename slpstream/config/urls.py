"""Checks of the host names and URLs in a configuration. Errors never show a URL, which can hold a password."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from slpstream.model.errors import ConfigError
from slpstream.system.host_name import resolvable


def check_url(url: str, schemes: Collection[str], file: str, key: str, *, expected: str = "") -> SplitResult:
    """The parts of a URL with a host that a client can connect to. Raises `ConfigError`, which names `file` and `key`.

    `expected` describes the URL for people; by default the schemes do.
    """
    named = " or ".join(f"{scheme}://" for scheme in schemes)
    refusal = ConfigError(file, key, expected or f"expected {named}, with a host and no spaces")
    try:
        parts = urlsplit(url)
        resolvable(parts.hostname or "")
        has_port = parts.port is None or parts.port > 0  # `port` raises for one that is too large
    except ValueError:
        raise refusal from None  # the error has a part of the URL
    without_user = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    has_spaces = re.search(r"[\x00-\x1f\x7f]", url) or re.search(r"\s", without_user)
    if parts.scheme not in schemes or not parts.hostname or not has_port or has_spaces:
        raise refusal
    return parts
