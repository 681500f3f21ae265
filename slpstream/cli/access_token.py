"""The access token of a daemon, for commands that ask one."""

from __future__ import annotations

import re
from pathlib import Path

from slpstream.config import read_secret
from slpstream.model.errors import ConfigError

_TOKEN = re.compile(r"[ -~]+")
"""Characters that an HTTP header can contain."""


def read_token(file: Path) -> str:
    """Read the access token. Check it here, because errors about an invalid header would show it."""
    try:
        token = read_secret(file, "token")
    except ConfigError as error:
        raise ConfigError(str(file), "", error.expected, found=error.found) from error
    if not _TOKEN.fullmatch(token):
        raise ConfigError(str(file), "", "expected a token in the first line, in printable ASCII")
    return token
