"""Checks `[[situations]]`. The queries themselves are checked when the search is made."""

from __future__ import annotations

from slpstream.config.checks import is_printable
from slpstream.config.sections import Config
from slpstream.model.errors import ConfigError
from slpstream.parts.situations.part import Situation


def check(config: Config, file: str) -> None:
    """Check that the names are unique and printable. Raises `ConfigError`, which names `file`, if they aren't."""
    names = [wanted.name for wanted in config.sections(Situation)]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ConfigError(file, f"situations[{i}].name", f"is there twice: {name!r}")
        if not is_printable(name):
            raise ConfigError(file, f"situations[{i}].name", "expected printable characters")
