"""Invalid configurations of webhooks are refused, with the key and the expected value."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.config.refusals import (
    SECRET,
    check_hides_secret,
    check_home_is_expanded,
    check_refused,
)


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"webhooks": [{"url": "http://x", "secret_file": "/a\0b"}]}, "webhooks[0].secret_file", "cannot be read"),
        ({"webhooks": [{"url": "http://x", "secret_file": ""}]}, "webhooks[0].secret_file", "a file"),
        (
            {"webhooks": [{"url": "http://x", "secret_file": __file__, "keep_hours": math.inf}]},
            "webhooks[0].keep_hours",
            "a number",
        ),
        (
            {"webhooks": [{"url": "https://example.org/hook", "secret_file": __file__, "events": ["game_ended"]}]},
            "webhooks[0].events[0]",
            '"game_end"',
        ),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize(
    "table",
    [
        {"webhooks": [{"url": f"https://user:{SECRET}@host:0", "secret_file": __file__}]},
        {"webhooks": [{"url": f"https://user:{SECRET}@host:99999", "secret_file": __file__}]},
        {"webhooks": [{"url": f"https://host/a b?{SECRET}", "secret_file": __file__}]},
    ],
)
def test_refused_url_is_not_shown(table: dict[str, Any]) -> None:
    check_hides_secret(table, "url")


def test_secret_paths_can_begin_with_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_home_is_expanded({"webhooks": [{"url": "http://x", "secret_file": "~/secret"}]}, tmp_path, monkeypatch)
