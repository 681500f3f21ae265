"""The reference pages are complete, and every row has a description."""

from __future__ import annotations

import pytest

from slpstream import config
from slpstream.parts import registry
from slpstream.parts.reference.cli import PAGES
from slpstream.system.metrics import TABLE


def page(name: str) -> str:
    return "\n".join(PAGES[name]())


NAMES = [pytest.param(name, marks=pytest.mark.parts("api_docs")) if name == "http" else name for name in PAGES]


@pytest.mark.parametrize("name", NAMES)
def test_every_row_has_a_description(name: str) -> None:
    rows = [line for line in page(name).splitlines() if line.startswith("|") and not line.startswith("| ---")]
    assert rows
    assert all(row.rstrip(" |").count("|") >= 2 for row in rows)
    assert not [row for row in rows if row.rstrip().endswith("|  |")]
    assert page(name).splitlines()[2].startswith("This page lists ")


def test_every_key_and_metric_is_documented() -> None:
    text = page("config")
    assert all(f"| `{key.section}.{key.name}` |" in text for key in config.all_keys(registry.sections()))
    assert all(f"| `{row.name}` |" in page("metrics") for row in (*TABLE, *registry.metric_rows()))
