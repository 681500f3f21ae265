"""Files with a secret: access tokens and passwords."""

from __future__ import annotations

from pathlib import Path

from slpstream.model.errors import ConfigError


def read_secret(path: Path, key: str) -> str:
    """The first line of a file, whose path may begin with `~`, without surrounding spaces. Blocks.

    Raises `ConfigError`, which names `key`, when the file cannot be read or the line is empty.
    """
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        raise ConfigError("configuration", key, f"cannot be read: {error}") from error
    secret = text.split("\n", 1)[0].strip()
    if not secret:
        raise ConfigError("configuration", key, "the first line is empty")
    return secret
