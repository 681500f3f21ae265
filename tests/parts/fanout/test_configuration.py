"""Invalid configurations of the connection to a broker are refused, with the key and the expected value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream import config
from slpstream.parts.fanout.part import Fanout
from tests.config.refusals import (
    SECRET,
    SECTIONS,
    check_hides_secret,
    check_home_is_expanded,
    check_refused,
)


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"fanout": {"ca_file": "/a\0b"}}, "fanout.ca_file", "cannot be read"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize(
    "table",
    [
        {"fanout": {"url": f"redis://user:{SECRET}@[x"}},
        {"fanout": {"url": f"redis://user:{SECRET}@host:99999"}},
        {"fanout": {"url": f"redis://user:{SECRET}"}},
        {"fanout": {"url": f"redis://user:{SECRET}@host/a"}},
        {"fanout": {"url": f"redis+cluster://user:{SECRET}@host/1"}},
        {"fanout": {"url": f"http://user:{SECRET}@host"}},
        {"fanout": {"url": f"redis://user:{SECRET}@a..b"}},
    ],
)
def test_refused_url_is_not_shown(table: dict[str, Any]) -> None:
    check_hides_secret(table, "url")


def test_broker_urls_can_have_any_password() -> None:
    for url in ("redis://:p w@redis_1", "rediss://user:a%40b@[::1]:6380/3", "redis+cluster://host:7000"):
        assert config.check({"fanout": {"url": url}}, SECTIONS).section(Fanout).url == url


def test_secret_paths_can_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_home_is_expanded({"fanout": {"password_file": "~/secret", "ca_file": "~/secret"}}, tmp_path, monkeypatch)
