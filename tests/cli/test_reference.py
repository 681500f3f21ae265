"""The reference pages are complete, and every row has a description."""

from __future__ import annotations

import re
import tomllib

import pytest

from slpstream import config
from slpstream.cli.reference import PAGES
from slpstream.formats.slippi import commands, game_start
from slpstream.model.messages import STATUS_PAYLOADS
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.system.metrics import TABLE


def page(name: str) -> str:
    return "\n".join(PAGES[name]())


@pytest.mark.parametrize("name", PAGES)
def test_every_row_has_a_description(name: str) -> None:
    rows = [line for line in page(name).splitlines() if line.startswith("|") and not line.startswith("| ---")]
    assert rows
    assert all(row.rstrip(" |").count("|") >= 2 for row in rows)
    assert not [row for row in rows if row.rstrip().endswith("|  |")]
    assert page(name).splitlines()[2].startswith("This page lists ")


def test_every_message_is_documented() -> None:
    text = page("messages")
    assert all(f"| `{kind}` |" in text for kind in (*TOPIC_OF_TYPE, *STATUS_PAYLOADS))


def test_every_field_is_documented() -> None:
    text = page("fields")
    fields = [field for table in commands.TABLES.values() for field in table.fields]
    for field in (*fields, *game_start.FIELDS, *game_start.PLAYER_FIELDS):
        assert field.doc
        assert f"| `{field.wire_name}` |" in text


def test_every_key_and_metric_is_documented() -> None:
    text = page("config")
    assert all(f"| `{key.section}.{key.name}` |" in text for key in config.all_keys())
    assert all(f"| `{row.name}` |" in page("metrics") for row in TABLE)


@pytest.mark.slow
def test_defaults_are_written_as_in_the_configuration() -> None:
    rows = re.findall(r"^\| `(\w+)\.(\w+)` \| .*? \| `(.*?)` \|", page("config"), re.MULTILINE)
    assert len(rows) > 30
    for section, name, default in rows:
        value = tomllib.loads(f"key = {default}")["key"]
        [key] = [key for key in config.all_keys() if (key.section, key.name) == (section, name)]
        assert value == key.default
