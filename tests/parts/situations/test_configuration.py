"""Invalid configurations of situations are refused, with the key and the expected value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.refusals import (
    check_refused,
)

KILL = {"name": "kill", "query": "kill"}


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"situations": [KILL, KILL]}, "situations[1].name", ""),
        ({"situations": [KILL, {"name": "a\x1b", "query": "hit"}]}, "situations[1].name", ""),
        ({"situations": [KILL, {"name": "", "query": "hit"}]}, "situations[1].name", ""),
        ({"situations": [KILL, {"name": "hit"}]}, "situations[1].query", ""),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)
