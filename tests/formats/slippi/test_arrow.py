"""Arrow tables have the values of the columns: nulls where a value is absent, NaN where the replay has NaN."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slpstream.formats.slippi import arrow
from slpstream.formats.slippi.columns import Array, Character, EventColumns, Frames
from slpstream.formats.slippi.commands import FRAME_BOOKEND, FRAME_START, GAME_END, ITEM_UPDATE, POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.model.fields import Table
from tests.formats.slippi.built import Built, bookend, post, pre, start, varied_replay
from tests.replays import NOT_REPLAYS, replays

REPLAYS = [path for path in replays() if path.stem not in NOT_REPLAYS]


def names(table: Table, prefix: str = "") -> list[str]:
    keys = ("frame", "player_index", "is_follower")
    return [prefix + field.name.replace(".", "_") for field in table.fields if field.name not in keys]


def value_differs(column: pa.ChunkedArray, columns: EventColumns, field: str, rows: Array) -> str:
    """How a column of a table differs from the column of an event in the given rows; empty when they are equal."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    if field not in columns.fields:
        return "has values that the replay does not have" if valid.any() else ""
    present = columns.present[rows]
    if not np.array_equal(valid, present):
        return "is null elsewhere"
    got = column.drop_null().to_numpy(zero_copy_only=False)
    expected = columns[field][rows][present]
    if got.dtype != expected.dtype:
        return f"is {got.dtype}, not {expected.dtype}"
    same = np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")
    return "" if same else "has other values"


def assert_character(table: pa.Table, frames: Frames, character: Character) -> None:
    """Assert that the rows of a character have the values of its columns."""
    rows = np.flatnonzero(character.pre.present | character.post.present)
    assert table["frame"].to_pylist() == frames.number[rows].tolist()
    assert table["revision"].to_pylist() == frames.revision[rows].tolist()
    assert set(table["player_index"].to_pylist()) == {character.player_index}
    assert set(table["is_follower"].to_pylist()) == {character.is_follower}
    sources = [
        (frames.start, FRAME_START, ""),
        (frames.bookend, FRAME_BOOKEND, ""),
        (character.pre, PRE_FRAME, "pre_"),
        (character.post, POST_FRAME, "post_"),
    ]
    for columns, of, prefix in sources:
        fields = [field.name for field in of.fields if field.name not in ("frame", "player_index", "is_follower")]
        for field, name in zip(fields, names(of, prefix), strict=True):
            shown = "start_seed" if of is FRAME_START and field == "seed" else name
            assert value_differs(table[shown], columns, field, rows) == "", f"{character!r} {shown}"


def assert_frames(frames: Frames) -> pa.Table:
    """Assert that the table has the columns of all characters, one character after another."""
    table = arrow.frames_table(frames)
    table.validate(full=True)
    assert table.schema.equals(arrow.FRAMES_SCHEMA, check_metadata=True)
    at = 0
    for character in frames.characters:
        count = int((character.pre.present | character.post.present).sum())
        assert_character(table.slice(at, count), frames, character)
        at += count
    assert at == len(table)
    return table


def assert_items(frames: Frames) -> pa.Table:
    table = arrow.items_table(frames)
    table.validate(full=True)
    assert table.schema.equals(arrow.ITEMS_SCHEMA, check_metadata=True)
    assert table["frame"].to_pylist() == np.repeat(frames.number, frames.items.counts).tolist()
    all_rows = np.arange(len(frames.items))
    for name in names(ITEM_UPDATE):
        assert value_differs(table[name], frames.items, name, all_rows) == "", name
    return table


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_replays(path: Path) -> None:
    frames = WholeGame(path.read_bytes()).frames
    assert_frames(frames)
    assert_items(frames)


def test_every_sending() -> None:
    frames = WholeGame(varied_replay()).frames
    last, every = assert_frames(frames), assert_frames(frames.sendings)
    assert max(last["revision"].to_pylist()) == 1
    assert len(every) > len(last)
    assert every["frame"].to_pylist()[:40] != sorted(every["frame"].to_pylist()[:40])
    assert_items(frames.sendings)


def test_absent_values_are_null_and_nan_stays_nan() -> None:
    game = Built((3, 18, 0)).frame(-123).frame(-122, percent=float("nan"))
    game.add(start(-121), pre(-121), pre(-121, 1), post(-121, 1), bookend(-121))  # player 0 has no post
    game.frame(-120, players=(1,), followers=(1,))  # player 0 is gone, player 1 has a follower
    frames = WholeGame(game.end().closed()).frames
    table = assert_frames(frames)
    keys = list(zip(*(table[name].to_pylist() for name in ("player_index", "is_follower", "frame")), strict=True))
    assert keys == [
        *((0, False, number) for number in (-123, -122, -121)),
        *((1, False, number) for number in (-123, -122, -121, -120)),
        (1, True, -120),
    ]
    percent = table["post_percent"].to_pylist()
    assert percent[0] == 0.0
    assert math.isnan(percent[1])
    assert percent[2] is None
    assert table["pre_percent"].to_pylist()[2] == 0.0


def test_replay_without_frames() -> None:
    frames = WholeGame(Built((3, 18, 0)).closed()).frames
    assert len(assert_frames(frames)) == len(assert_items(frames)) == 0


def test_columns_come_from_the_field_tables() -> None:
    expected = ["frame", "revision", "player_index", "is_follower", "start_seed", "scene_frame_counter"]
    expected += ["latest_finalized_frame", *names(PRE_FRAME, "pre_"), *names(POST_FRAME, "post_")]
    assert arrow.FRAMES_SCHEMA.names == expected
    assert arrow.ITEMS_SCHEMA.names == ["frame", "revision", *names(ITEM_UPDATE)]
    assert set(names(GAME_END)) < set(arrow.GAME_ENDS_SCHEMA.names)
    for schema in (arrow.FRAMES_SCHEMA, arrow.ITEMS_SCHEMA, arrow.GAME_STARTS_SCHEMA, arrow.GAME_ENDS_SCHEMA):
        assert len(set(schema.names)) == len(schema.names)
        assert not {"file", "game_id"} & set(schema.names)
    percent = arrow.FRAMES_SCHEMA.field("post_percent")
    assert percent.metadata == {b"doc": b"Damage.", b"unit": b"percent", b"since": b"0.1.0"}


def wire_value(settings: Any, name: str) -> Any:
    """The value of a setting, in whichever struct it is, in the form of the table."""
    for part in (settings, settings.game_info_block, settings.match_info):
        if hasattr(part, name):
            value = getattr(part, name)
            return None if type(value).__name__ == "UnsetType" else value
    raise AttributeError(name)


@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_game_starts_and_ends_of_replays(path: Path) -> None:
    game = WholeGame(path.read_bytes())
    settings, table = game.start.settings, arrow.game_start_table(game.start.settings)
    rows = table.to_pylist()
    assert [row["player_index"] for row in rows] == [player.player_index for player in settings.players]
    of_player = set(type(settings.players[0]).__struct_fields__) | {"character_name"}
    for row, player in zip(rows, settings.players, strict=True):
        for name, value in row.items():
            if name == "stage_name":
                assert isinstance(value, str)
            elif name not in of_player:
                assert value == wire_value(settings, name), name
            elif name != "character_name":
                expected = getattr(player, name)
                assert value == (None if type(expected).__name__ == "UnsetType" else expected), name
    metadata = None if game.metadata is None else game.metadata.metadata
    [end] = arrow.game_end_table(game.end, metadata).to_pylist()
    assert (end["reason"], end["last_frame"]) == (game.end.reason, game.end.last_frame)
    assert end["duration_seconds"] == game.end.duration_seconds
    assert end["winners"] == [winner.player_index for winner in game.end.winners]
    assert end["started_at"] == (metadata or {}).get("startAt")
    assert (end["game_end_method"] is None) == (game.end.game_end is None)


def test_game_end_table() -> None:
    data = Built((3, 18, 0)).frames(-123, 0).end(placements=(1, 0, -1, -1)).closed()
    game = WholeGame(data)
    assert game.metadata is not None
    [row] = arrow.game_end_table(game.end, game.metadata.metadata).to_pylist()
    assert [row[f"placement_{port}"] for port in (1, 2, 3, 4)] == [1, 0, -1, -1]
    assert (row["winners"], row["game_end_method"], row["last_frame"]) == ([1], 2, 0)
    assert (row["started_at"], row["played_on"], row["console_nick"]) == ("2025-02-09T22:56:19Z", "dolphin", None)
    odd = arrow.game_end_table(game.end, {"startAt": 5, "consoleNick": "Ä"}).to_pylist()[0]
    assert (odd["started_at"], odd["console_nick"]) == (None, "Ä")
    [cut] = arrow.game_end_table(WholeGame(data[:4000]).end, None).to_pylist()
    assert (cut["reason"], cut["game_end_method"], cut["placement_1"], cut["winners"]) == ("incomplete", None, None, [])


def test_file_and_game_id_come_first() -> None:
    table = arrow.of_game(arrow.items_table(WholeGame(varied_replay()).frames), file="Ä.slp", game_id="ab")
    assert table.column_names[:3] == ["file", "game_id", "frame"]
    assert set(table["file"].to_pylist()) == {"Ä.slp"}
    assert table.schema.field("game_id").type == arrow.KEY


def test_arrow_table_does_not_import_pandas(tmp_path: Path) -> None:
    """Importing pandas takes longer than reading a game."""
    path = tmp_path / "a.slp"
    path.write_bytes(varied_replay())
    script = (
        "import slpstream, sys; t = slpstream.open_replay(sys.argv[1]).frames.to_arrow()\n"
        "print(len(t), 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    rows, loaded = done.stdout.split()
    assert int(rows) > 50
    assert loaded == "False"


def test_to_arrow_and_to_pandas() -> None:
    frames = WholeGame(Built().frames(-123, -100).end().closed()).frames
    assert frames.to_arrow().equals(arrow.frames_table(frames))
    assert list(frames.to_pandas().columns) == arrow.FRAMES_SCHEMA.names
