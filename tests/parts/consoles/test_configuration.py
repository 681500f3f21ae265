"""The checks of `[relay]` and of the keys of `[[stations]]` for the network."""

from __future__ import annotations

from typing import Any

import pytest

from slpstream import config
from slpstream.parts.consoles.part import RecordingLimits
from tests.config.refusals import SECTIONS, check_refused


def _spectated(id: str, port: int) -> dict[str, Any]:
    return {"id": id, "folder": "/x", "relay_enet_port": port}


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"stations": [{"id": "a", "console": "192.168..1"}]}, "stations[0].console", "host"),
        ({"stations": [{"id": "a", "dolphin": "x" * 64}]}, "stations[0].dolphin", "host"),
        (
            {"stations": [{"id": "a", "console": "wii", "dolphin": "pc"}]},
            "stations[0].folder",
            "expected one source, folder, console or dolphin; found console and dolphin",
        ),
        ({"relay": {"host": "a..b"}}, "relay.host", "host"),
        ({"relay": {"discovery_host": "a..b"}}, "relay.discovery_host", "host"),
        ({"stations": [_spectated("a", 1), _spectated("b", 1)]}, "stations[1].relay_enet_port", "taken by stations[0]"),
        ({"stations": [_spectated("*", 1)]}, "stations[0].relay_enet_port", "single station"),
        (
            {"stations": [_spectated("a", 20582)], "relay": {"discovery": True}},
            "stations[0].relay_enet_port",
            "taken by relay.discovery_port",
        ),
        ({"recordings": {"max_age_days": -1}}, "recordings.max_age_days", ">= 0"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


def test_reload_applies_the_limits_of_recordings() -> None:
    running = config.check({"recordings": {"folder": "/a", "max_age_days": 1}}, SECTIONS)
    table = {"recordings": {"folder": "/b", "max_age_days": 2, "max_unwritten_bytes": 65536}}
    changes = config.changes(running, config.check(table, SECTIONS), SECTIONS)
    assert changes.applied == ["recordings.max_age_days"]
    assert changes.needs_restart == ["recordings.folder", "recordings.max_unwritten_bytes"]
    assert changes.config.recordings.folder == "/a"
    assert changes.config.section(RecordingLimits).max_age_days == 2
