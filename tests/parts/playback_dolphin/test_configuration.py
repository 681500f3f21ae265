"""Invalid configurations of the Playback Dolphin are refused, with the key and the expected value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream import config
from tests.config.refusals import (
    SECTIONS,
    check_hides_paths,
    check_refused,
)

MAIN = {"id": "main", "folder": "/x"}


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"playback": {"file": "/x"}, "stations": [MAIN]}, "playback.station", "a station, or 'on-air'"),
        ({"playback": {"file": "/x", "station": "b"}, "stations": [MAIN]}, "playback.station", "found 'b'"),
        ({"playback": {"file": "/", "station": "main"}, "stations": [MAIN]}, "playback.file", "is a folder: /"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize("stations", [[], [MAIN], [{"id": "*", "folder": "/x"}]])
def test_references_to_possible_stations_are_accepted(stations: list[dict[str, str]]) -> None:
    for station in ("main" if stations == [MAIN] else "side", "on-air"):
        config.check({"playback": {"file": "/playback.txt", "station": station}, "stations": stations}, SECTIONS)


def test_errors_reveal_no_paths_to_clients() -> None:
    check_hides_paths({"playback": {"file": str(Path(__file__).parent), "station": "a"}})
