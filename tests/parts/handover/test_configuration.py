"""Invalid configurations of the replays of sets are refused, with the key and the expected value."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from slpstream import config
from slpstream.model.errors import ConfigError
from slpstream.parts.handover.part import Handover
from tests.config.refusals import (
    SECTIONS,
    check_refused,
)


@pytest.mark.parametrize(
    ("table", "key", "expected"),
    [
        ({"handover": {"replay_name": "{stgae}"}}, "handover.replay_name", "found {stgae}"),
        ({"handover": {"zip_name": "{stage}"}}, "handover.zip_name", "found {stage}"),
        ({"handover": {"folder": __file__}}, "handover.folder", "is a file"),
    ],
)
def test_error_names_file_key_and_expected_value(table: dict[str, Any], key: str, expected: str) -> None:
    check_refused(table, key, expected)


@pytest.mark.parametrize(
    ("station", "zips"),
    [
        ({"id": "main", "folder": "{}/main"}, "{}/main"),
        ({"id": "main", "folder": "{}/main"}, "{}/main/old/zips"),
        pytest.param(
            {"id": "main", "folder": "{}/linked"},
            "{}/main/zips",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="Wine does not resolve such links"),
        ),
        ({"id": "*", "folder": "{}"}, "{}/zips"),
        pytest.param(
            {"id": "tv", "console": "192.0.2.1"}, "{}/recordings/tv/zips", marks=pytest.mark.parts("consoles")
        ),
    ],
)
def test_zip_folder_must_be_outside_all_stations(tmp_path: Path, station: dict[str, str], zips: str) -> None:
    (tmp_path / "main").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "main")
    table = {
        "stations": [{key: value.format(tmp_path) for key, value in station.items()}],
        "recordings": {"folder": str(tmp_path / "recordings")},
        "handover": {"folder": zips.format(tmp_path)},
    }
    with pytest.raises(ConfigError) as refused:
        config.check(table, SECTIONS)
    assert refused.value.key == "handover.folder"
    assert f"in the folder of the station {station['id']}" in refused.value.expected
    table["handover"] = {"folder": f"{tmp_path}-zips"}
    assert config.check(table, SECTIONS).section(Handover).folder == f"{tmp_path}-zips"
