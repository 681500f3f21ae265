"""The names against the table of the shared pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from slpstream.formats.mk8 import names
from tests.shared_data import SHARED, needs_shared


@needs_shared
def test_the_names_are_those_of_the_table() -> None:
    table: dict[str, Any] = msgspec.json.decode((SHARED.parent / "formats" / "tables.json").read_bytes())
    theirs = table["mario_kart_8"]
    ours: dict[str, Mapping[Any, Any]] = {
        "tracks": names.TRACKS,
        "characters": names.CHARACTERS,
        "karts": names.KARTS,
        "wheels": names.WHEELS,
        "gliders": names.GLIDERS,
        "cc": names.CC,
        "mode": names.MODES,
        "cpu": names.CPU,
        "team": names.TEAMS,
        "weight": names.WEIGHTS,
        "country_ids": names.COUNTRIES,
        "game_versions": names.GAME_VERSIONS,
    }
    for key, mapping in ours.items():
        assert {str(number): name for number, name in mapping.items()} == theirs[key], key
    assert names.KINDS.keys() == theirs["kinds"].keys()


def test_a_vehicle_with_four_wheels_has_seventeen_subsections() -> None:
    assert len(names.SUBSECTIONS) == 17
    assert [name for name in names.SUBSECTIONS if name and "wheel" in name] == list(names.SUBSECTIONS[5:9])
