"""Invalid configurations of seats are refused, with the key and the expected value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.refusals import (
    SECRET,
    check_hides_secret,
)


@pytest.mark.parametrize(
    "table",
    [
        {"seats": {"address": f"http://user:{SECRET}@host"}},
        {"seats": {"address": f"http://host?{SECRET}"}},
    ],
)
def test_refused_url_is_not_shown(table: dict[str, Any]) -> None:
    check_hides_secret(table, "address")
