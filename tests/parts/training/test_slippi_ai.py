"""slippi-ai's layout, compared with the steps of slippi-ai's parser over peppi-py-vladfi."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from slpstream.api import open_replay
from slpstream.parts.export.cli import command
from slpstream.parts.training import slippi_ai
from tests.cli.command_line import called
from tests.formats.slippi.built import ONLINE, Built
from tests.project import IN_CI
from tests.replays import SHARED, SLP

VLADFI = os.environ.get("SLPSTREAM_PEPPI_VLADFI", "")
REFERENCE = Path(__file__).with_name("slippi_ai_reference.py")
TOY = os.environ.get("SLPSTREAM_SLIPPI_AI_TOY", "")
SAMPLE, SAMPLE_ROWS = "6827921534249607dafa57e9a67f8df4", 6402
LEAVES = 148
"""In the sample file of slippi-ai's repository, by the facts page."""
NOT_COMPARED = ("randall.x", "randall.y", "fod_platforms.left", "fod_platforms.right")
"""They come from libmelee, with which `test_rows` compares the cloud, and from events that peppi reads since 3.18."""


def leaves(array: pa.StructArray, path: str = "") -> dict[str, pa.Array]:
    found: dict[str, pa.Array] = {}
    for index, field in enumerate(array.type):
        name = f"{path}.{field.name}" if path else field.name
        column = array.field(index)
        found |= leaves(column, name) if pa.types.is_struct(field.type) else {name: column}
    return found


def rows_before_a_gap(exists: Any) -> int:
    """The rows up to the first absence of a follower.

    After it, the peer's rows of the follower are shifted: in `sheik_vs_ics_yoshis`, the 13 frames without Nana are
    missing, so the rows end 13 frames early (peppi-py-vladfi 0.9.2).
    """
    absent = np.flatnonzero(~exists)
    return int(absent[0]) if len(absent) else len(exists)


def test_the_struct_has_the_leaves_of_the_sample_file(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(Built().frames(-123, -100, items=2).end().closed())
    array = slippi_ai.game_array(open_replay(path).training_rows(sending="first"))
    types = {name: str(column.type) for name, column in leaves(array).items()}
    assert len(types) == LEAVES
    assert [field.name for field in array.type] == ["p0", "p1", "stage", "randall", "fod_platforms", "items"]
    assert types["p0.percent"] == types["p1.nana.action"] == types["items.item_14.type"] == "uint16"
    assert types["p0.controller.buttons.D_UP"] == types["p0.nana.exists"] == "bool"
    assert types["p0.controller.main_stick.x"] == types["randall.y"] == "float"
    assert types["stage"] == types["p0.character"] == types["items.item_0.state"] == "uint8"


def test_a_file_is_a_zlib_stream_around_plain_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(Built().frames(-123, -100).end().closed())
    content = slippi_ai.parquet_file(open_replay(path).training_rows(sending="first"))
    assert content[0] == 0x78
    file = pq.ParquetFile(pa.BufferReader(zlib.decompress(content)))
    assert file.metadata.num_row_groups == 1
    assert not file.schema_arrow.field("root").nullable
    column = file.metadata.row_group(0).column(0)
    assert column.compression == "UNCOMPRESSED"
    assert "RLE_DICTIONARY" not in column.encodings


@pytest.mark.release
@pytest.mark.skipif(not VLADFI and not IN_CI, reason="SLPSTREAM_PEPPI_VLADFI does not name a folder with the peer")
def test_rows_equal_those_of_slippi_ai(tmp_path: Path) -> None:
    replays = sorted([*SLP.glob("*.slp"), *(SHARED / "controllers").glob("*.slp")])
    environment = {**os.environ, "PYTHONPATH": VLADFI}
    reference = [sys.executable, str(REFERENCE), str(tmp_path), *map(str, replays)]
    run = subprocess.run(reference, env=environment, check=True, capture_output=True, text=True)
    compared = 0
    for path in replays:
        expected_file = tmp_path / f"{path.stem}.npz"
        if not expected_file.exists():
            continue  # the peer refuses it
        expected: dict[str, Any] = dict(np.load(expected_file))
        array = slippi_ai.game_array(open_replay(path).training_rows(sending="first"))
        found = {name: np.asarray(column) for name, column in leaves(array).items()}
        assert set(expected) == set(found) - set(NOT_COMPARED)
        different = []
        for name, values in expected.items():
            rows = slice(None)
            if ".nana." in name:
                rows = slice(0, rows_before_a_gap(found[f"{name[:2]}.nana.exists"]))
            if found[name].dtype != values.dtype or not np.array_equal(np.nan_to_num(found[name][rows]), values[rows]):
                different.append(name)
        assert different == [], path.name
        compared += 1
    assert compared > 50, run.stderr


@pytest.mark.release
@pytest.mark.skipif(not TOY, reason="SLPSTREAM_SLIPPI_AI_TOY does not name slippi-ai's toy_dataset; CI cannot have it")
def test_rows_equal_those_of_the_sample_file(tmp_path: Path) -> None:
    archive = Path(TOY) / "Raw" / "single_game.zip"
    arguments = ["--to", "training", "--layout", "slippi-ai", "--jobs", "1", "-o", str(tmp_path), str(archive)]
    assert called(command, *arguments).exit_code == 0
    columns = []
    for folder in (tmp_path, Path(TOY)):
        content = zlib.decompress((folder / "games" / SAMPLE).read_bytes())
        columns.append(leaves(pq.read_table(pa.BufferReader(content))["root"].combine_chunks()))
    ours, theirs = columns
    assert len(ours) == len(theirs) == LEAVES
    assert len(theirs["stage"]) == SAMPLE_ROWS
    assert [name for name in theirs if not ours[name].equals(theirs[name])] == []


def test_the_folder_is_the_one_that_slippi_ai_trains_on(tmp_path: Path) -> None:
    games = tmp_path / "games"
    games.mkdir()
    data = Built((3, 16, 0)).frames(-123, 200).end().closed()
    (games / "a.slp").write_bytes(data)
    out = tmp_path / "out"
    arguments = ["--to", "training", "--layout", "slippi-ai", "--jobs", "1", "-o", str(out), str(games)]
    assert called(command, *arguments).exit_code == 0
    (entry,) = json.loads((out / "meta.json").read_text())
    file = out / "games" / entry["slp_md5"]
    assert entry["pq_size"] == file.stat().st_size
    assert entry["slp_size"] == len(data)
    assert entry["slippi_version"] == [3, 16, 0]
    assert not entry["is_training"]
    assert entry["not_training_reason"] == "shorter than 3600 frames"
    assert [player["port"] for player in entry["players"]] == [0, 1]


def test_first_sending_counts_by_default(tmp_path: Path) -> None:
    replay = tmp_path / "a.slp"
    built = Built((3, 16, 0), major_scene=ONLINE).frames(-123, -101, finalized=-110)
    replay.write_bytes(built.frames(-105, -90, percent=50.0).end().closed())
    for options, percent in (((), 0), (("--revisions", "last"), 50), (("--revisions", "first"), 0)):
        arguments = ["--to", "training", "--layout", "slippi-ai", "--jobs", "1", "--overwrite", *options]
        assert called(command, *arguments, "-o", tmp_path / "set", replay).exit_code == 0
        [entry] = json.loads((tmp_path / "set" / "meta.json").read_text())
        content = zlib.decompress((tmp_path / "set" / "games" / entry["slp_md5"]).read_bytes())
        percents = leaves(pq.read_table(pa.BufferReader(content))["root"].combine_chunks())["p0.percent"].to_pylist()
        assert percents[:18] == [0] * 18
        assert percents[18:] == [percent] * 5 + [50] * 11


@pytest.mark.parametrize(("winners", "winner"), [([2], 1), ([0], 0), ([0, 2], None), ([], None), ([1], None)])
def test_the_winner_is_a_place_among_the_players(tmp_path: Path, winners: list[int], winner: int | None) -> None:
    path = tmp_path / "a.slp"
    path.write_bytes(Built(characters={0: 2, 2: 20}).frames(-123, -100).end().closed())
    replay = open_replay(path)
    rows = replay.training_rows(sending="first")
    entry = slippi_ai.meta(replay.settings, rows, last_frame=-100, winners=winners)
    assert [player["port"] for player in entry["players"]] == [0, 2]
    assert entry["winner"] == winner
