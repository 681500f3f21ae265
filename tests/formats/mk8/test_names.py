"""The names of Mario Kart 8, compared with the published tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from slpstream.formats.mk8 import names
from slpstream.formats.mk8.settings import CUBIC_CENTIMETRES
from tests.replays import SHARED, needs_shared


@needs_shared
def test_names_match_the_published_tables() -> None:
    table: dict[str, Any] = msgspec.json.decode((SHARED.parent / "formats" / "tables.json").read_bytes())
    theirs = table["mario_kart_8"]
    ours: dict[str, Mapping[Any, Any]] = {
        "tracks": names.tracks(),
        "characters": names.characters(),
        "karts": names.karts(),
        "wheels": names.wheels(),
        "gliders": names.gliders(),
        "cc": CUBIC_CENTIMETRES,
        "mode": names.modes(),
        "cpu": names.cpu(),
        "team": names.teams(),
        "weight": names.weights(),
        "country_ids": names.countries(),
        "game_versions": names.game_versions(),
    }
    for key, mapping in ours.items():
        assert {str(number): name for number, name in mapping.items()} == theirs[key], key
    assert names.kinds().keys() == theirs["kinds"].keys()


def test_four_wheeled_vehicle_has_seventeen_subsections() -> None:
    subsections = names.subsections()
    assert len(subsections) == 17
    assert [name for name in subsections if name and "wheel" in name] == list(subsections[5:9])
    assert subsections[4] is None
