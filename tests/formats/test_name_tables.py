"""The tables of names: their form, when they are read, and that they are the published ones."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slpstream.formats.gci import names as gci
from slpstream.formats.gci.container import FILE_KINDS
from slpstream.formats.gci.frames import BUTTONS
from slpstream.formats.mk8 import names as mk8
from slpstream.formats.mk8.settings import CUBIC_CENTIMETRES
from slpstream.formats.registry import name_folders
from slpstream.formats.stunts import names as stunts
from tests.formats.stunts.built import BITS
from tests.project import ROOT
from tests.replays import SHARED, needs_shared

SOURCES = ROOT / "slpstream"
FILES = sorted(path for folder in name_folders().values() for path in folder.glob("*.json"))
DATA_FILES = [*FILES, *SOURCES.glob("parts/bracket/startgg/ids.json")]
CONFIDENCES = {"documented", "observed", "guessed"}


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return content


def is_text(value: Any) -> bool:
    """Whether a value is a non-empty text, or the lines of one."""
    lines = value if isinstance(value, list) else [value]
    return bool(lines) and all(isinstance(line, str) and line.strip() for line in lines)


@pytest.mark.parametrize("path", DATA_FILES, ids=lambda path: str(path.relative_to(SOURCES)))
def test_tables_say_where_their_names_come_from(path: Path) -> None:
    content = read(path)
    assert is_text(content["about"])
    assert is_text(content["source"])
    assert content["confidence"] in CONFIDENCES
    for table in (content, *content.get("tables", {}).values()) if path in FILES else ():
        columns, rows = table.get("columns", {}), table.get("rows", {})
        assert all(is_text(described["about"]) for described in (table, *columns.values()))
        assert {str(number) for number in table.get("observed", ())} <= rows.keys()
        assert all(row.get("confidence", "documented") in CONFIDENCES for row in (*columns.values(), *rows.values()))
        for row in rows.values():
            assert row.keys() - {"name", "confidence"} <= columns.keys()
            assert is_text(row.get("name", "none"))


def test_tables_are_read_on_first_use() -> None:
    program = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import slpstream.formats.slippi.reader
assert "slpstream.formats.slippi.names" not in sys.modules
import slpstream.formats.registry
from slpstream.formats.slippi import names
assert not [path for path in opened if path.endswith(".json")]
names.stage_name(31), names.stage_name(32)
assert len([path for path in opened if path.endswith(".json")]) == 1
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@needs_shared
def test_names_match_the_published_tables() -> None:
    published = read(SHARED.parent / "formats" / "tables.json")
    kinds = published["mario_kart_8"].pop("kinds")
    assert mk8.kinds().keys() == kinds.keys()
    file_types, buttons = (published["fzero_gx"].pop(key) for key in ("file_types", "buttons"))
    assert {f"{number:04x}": kind for number, kind in FILE_KINDS.items()} == file_types
    words = {int(key, 16): name.split(" trigger")[0].replace(" ", "_") for key, name in buttons.items()}
    assert words.keys() - {0x04} == BUTTONS.keys()
    assert all(words[bit] == word for bit, word in BUTTONS.items())
    ours: dict[str, dict[str, Mapping[Any, Any]]] = {
        "fzero_gx": {
            "machines": {**gci.machines(), 50: "original machine (custom parts)"},
            "pilots": gci.pilots(),
            "courses": gci.courses(),
            "bodies": gci.bodies(),
            "cockpits": gci.cockpits(),
            "boosters": gci.boosters(),
            "difficulty": gci.difficulties(),
            "mode": gci.modes(),
            "emblem_part": gci.emblem_parts(),
        },
        "mario_kart_8": {
            "tracks": mk8.tracks(),
            "characters": mk8.characters(),
            "karts": mk8.karts(),
            "wheels": mk8.wheels(),
            "gliders": mk8.gliders(),
            "cc": CUBIC_CENTIMETRES,
            "mode": mk8.modes(),
            "cpu": mk8.cpu(),
            "team": mk8.teams(),
            "weight": mk8.weights(),
            "country_ids": mk8.countries(),
            "game_versions": mk8.game_versions(),
        },
        "stunts": {
            "cars": stunts.cars(),
            "opponents": {0: None, **stunts.opponents()},
            "horizons": stunts.horizons(),
        },
    }
    for game, tables_of_game in ours.items():
        for key, mapping in tables_of_game.items():
            theirs = {str(number): name for number, name in published[game][key].items()}
            assert {str(number): name for number, name in mapping.items()} == theirs, (game, key)
    assert published["stunts"]["bits"][:6] == list(BITS)
    assert [1 << index for index in range(6)] == list(BITS.values())
