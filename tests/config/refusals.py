"""Checks of invalid configurations, for the sections of the core and of each part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream import config
from slpstream.model.errors import ConfigError
from slpstream.parts import registry

SECTIONS = registry.sections()
SECRET = "hunter2"


def check_refused(table: dict[str, Any], key: str, expected: str) -> None:
    """Check that the error names the file, this key, and the expected value."""
    with pytest.raises(ConfigError) as refused:
        config.check(table, SECTIONS, file="my.toml")
    assert refused.value.key == key
    assert str(refused.value).startswith(f"my.toml: {key}: ")
    assert expected in str(refused.value)


def check_hides_secret(table: dict[str, Any], *names: str) -> None:
    """Check that the error names one of these keys, and does not contain `SECRET`."""
    with pytest.raises(ConfigError) as refused:
        config.check(table, SECTIONS)
    assert refused.value.key.rpartition(".")[2] in names
    assert SECRET not in str(refused.value)


def check_hides_paths(table: dict[str, Any]) -> None:
    """Check that the form of the error for clients contains no path."""
    with pytest.raises(ConfigError) as refused:
        config.check(table, SECTIONS, file="/etc/slpstream.toml")
    assert "/" not in refused.value.for_clients
    assert refused.value.for_clients.startswith(f"{refused.value.key}: ")
    assert str(refused.value).startswith("/etc/slpstream.toml: ")


def check_home_is_expanded(table: dict[str, Any], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the path `~/secret` in a configuration leads into the home folder."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    with pytest.raises(ConfigError, match="cannot be read: ~/secret"):
        config.check(table, SECTIONS)
    (home / "secret").write_text("hidden\n")
    config.check(table, SECTIONS)
