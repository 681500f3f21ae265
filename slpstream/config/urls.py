"""Check the host names and URLs in a configuration.

The errors never show a URL, because it might contain a password.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from slpstream.model.errors import ConfigError
from slpstream.system.host_name import resolvable


def check_url(url: str, schemes: Collection[str], file: str, key: str, *, expected: str = "") -> SplitResult:
    """Parse a URL, and make sure that it has a host that a client can connect to.

    If not, this raises a `ConfigError` that mentions `file` and `key`. `expected` is a description of the URL for
    people. If you don't pass it, the schemes serve as one.
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
