"""Invalid configurations of logs in JSON Lines are refused, with the key and the expected value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.refusals import (
    check_hides_paths,
    check_refused,
)


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"jsonl": [{"folder": "/x", "topics": ["game", "frames"]}]}, "jsonl[0].topics[1]", '"frame"'),
        ({"jsonl": [{"folder": "/x"}, {"folder": "/y", "frames": "all"}]}, "jsonl[1].frames", '"finalized"'),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


def test_errors_reveal_no_paths_to_clients() -> None:
    check_hides_paths({"jsonl": [{"folder": __file__}]})
