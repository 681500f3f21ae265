"""Files that contain a secret, such as an access token or a password."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

from slpstream.model.errors import ConfigError


def read_secret(path: Path, key: str) -> str:
    """Return the first line of a file, without spaces around it. The path can begin with `~`. This function blocks.

    Raises a `ConfigError` that mentions `key` if the file can't be read or the line is empty.
    """
    try:
        return read_secret_bytes(path, key).decode()
    except UnicodeDecodeError:  # the error has a part of the secret
        raise ConfigError("configuration", key, "the first line is not UTF-8") from None


def read_secret_bytes(path: Path, key: str) -> bytes:
    """Like `read_secret`, but the secret doesn't have to be text."""
    try:
        data = path.expanduser().read_bytes()
    except (OSError, RuntimeError) as error:
        raise ConfigError("configuration", key, "cannot be read", found=error) from error
    secret = data.removeprefix(BOM_UTF8).split(b"\n", 1)[0].strip()  # editors on Windows write a byte order mark
    if not secret:
        raise ConfigError("configuration", key, "the first line is empty")
    return secret
