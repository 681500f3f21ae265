"""Invalid configurations of a bracket are refused, with the key and the expected value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream import config
from slpstream.model.errors import ConfigError
from slpstream.parts.bracket.checks import event_slug
from slpstream.parts.bracket.part import Bracket
from tests.config.refusals import (
    SECRET,
    SECTIONS,
    check_hides_paths,
    check_hides_secret,
)

EVENT = "tournament/the-big-one/event/melee-singles"


@pytest.mark.parametrize(
    ("bracket", "key", "what"),
    [
        ({"report": True}, "bracket.kind", "must be given"),
        ({"kind": "start.gg"}, "bracket.events", "must be given for start.gg"),
        ({"kind": "start.gg", "events": ["melee"]}, "bracket.events[0]", "expected tournament/NAME/event/NAME"),
        ({"kind": "start.gg", "events": [EVENT], "report": True}, "bracket.token_file", "must be given to report"),
        ({"kind": "start.gg", "events": [EVENT], "token_file": "/nowhere/x"}, "bracket.token_file", "cannot be read"),
        ({"kind": "start.gg", "events": [EVENT], "url": "ftp://x"}, "bracket.url", "expected http"),
        ({"kind": "webhook"}, "bracket.url", "must be given for a webhook"),
        ({"kind": "webhook", "url": "http://x", "events": [EVENT]}, "bracket.events", "does not apply"),
        ({"kind": "start.gg", "events": [EVENT], "stations": {"1": "c"}}, "bracket.stations.1", "no such station"),
        ({"kind": "start.gg", "events": [EVENT], "stations": {"1": "a", "2": "a"}}, "bracket.stations.1", "twice"),
        ({"kind": "start.gg", "events": [EVENT], "streams": {"x": "c"}}, "bracket.streams.x", "no such station"),
        ({"kind": "start.gg", "events": [EVENT], "requests_per_minute": 81}, "bracket.requests_per_minute", "80"),
    ],
)
def test_impossible_brackets_are_refused(bracket: dict[str, Any], key: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config.check({"bracket": bracket, "stations": [{"id": "a", "folder": "/a"}]}, SECTIONS)
    assert caught.value.key == key
    assert what in caught.value.expected


@pytest.mark.parametrize(
    "address", [EVENT, f"https://www.start.gg/{EVENT}", f"https://start.gg/{EVENT}/brackets/1?x=2"]
)
def test_address_of_an_event(address: str, tmp_path: Path) -> None:
    assert event_slug(address) == EVENT
    (tmp_path / "token").write_text("t")
    made = {"kind": "start.gg", "events": [address], "token_file": str(tmp_path / "token"), "report": True}
    assert config.check({"bracket": made}, SECTIONS).section(Bracket).confirm


@pytest.mark.parametrize(
    "table",
    [
        {"bracket": {"kind": "webhook", "url": f"http://user:{SECRET}@[", "token_file": __file__}},
    ],
)
def test_refused_url_is_not_shown(table: dict[str, Any]) -> None:
    check_hides_secret(table, "url")


def test_errors_reveal_no_paths_to_clients() -> None:
    check_hides_paths({"bracket": {"kind": "webhook", "url": "http://x", "token_file": "/nowhere/x"}})
