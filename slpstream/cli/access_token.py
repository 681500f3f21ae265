"""The access token of a daemon, for commands that ask a daemon for something."""

from __future__ import annotations

import re
from pathlib import Path

from slpstream.config import read_secret
from slpstream.model.errors import ConfigError

_TOKEN = re.compile(r"[ -~]+")
"""The characters that an HTTP header can contain."""


def read_token(file: Path) -> str:
    """Read the access token. We check it here, because an error about an invalid header would show the token."""
    try:
        token = read_secret(file, "token")
    except ConfigError as error:
        raise ConfigError(str(file), "", error.expected, found=error.found) from error
    if not _TOKEN.fullmatch(token):
        raise ConfigError(str(file), "", "expected a token in the first line, in printable ASCII")
    return token
