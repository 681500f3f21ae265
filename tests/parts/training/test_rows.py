"""Rows for training: equal for whole and live games, with each value of the replay in its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slpstream.api import Sending, open_replay
from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.commands import FOD_PLATFORMS, FRAME_START, ITEM_UPDATE, POST_FRAME
from slpstream.formats.slippi.game_start import set_field
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.errors import FormatError, Unsupported
from slpstream.model.events import Frame
from slpstream.model.fields import Table
from slpstream.parts.training.columns import COLUMNS, MAX_ITEMS
from slpstream.parts.training.item_slots import ItemSlots
from slpstream.parts.training.live import ROW_DTYPE, LiveRows
from slpstream.parts.training.rows import Rows
from slpstream.parts.training.stage_objects import FOUNTAIN_OF_DREAMS, randall
from tests.formats.slippi.built import ONLINE, Built
from tests.formats.slippi.pure import without_kernel
from tests.replays import NOT_REPLAYS, real_replays, replay_path
from tests.synthetic.match import synthetic_match

SENDINGS: tuple[Sending, ...] = ("last", "first")
OWN = (
    *("singles_0.1", "items_3.2", "short_pre_frames_3.17", "crashed_3.18", "ice_climbers_rollbacks_3.18"),
    *("rollbacks_items_3.18", "zelda_sheik_3.18", "stadium_3.19", "doubles_3.18"),
)
REPLAYS = [*map(replay_path, OWN), *real_replays()]


def rolled_back() -> bytes:
    """A netplay game with followers, items that come and go, and frames that were sent again."""
    built = Built(major_scene=ONLINE).frames(-123, -103, items=2, followers=(1,))
    built.frames(-102, -100, items=2, followers=(1,), finalized=-103)
    built.frames(-102, -99, items=1)
    return built.frames(-98, -60, items=3).end().closed()


def live_rows(pieces: Iterator[bytes], sending: Sending) -> np.ndarray[Any, Any]:
    reader, rows = SlippiReader(), LiveRows(sending=sending)
    made = [row for piece in pieces for row in rows.take(reader.feed(piece))]
    made += rows.take(reader.finish())
    return np.array(made, ROW_DTYPE)


def assert_same(rows: Rows, live: np.ndarray[Any, Any]) -> None:
    assert len(live) == len(rows["frame"])
    different = [
        column.name
        for column in COLUMNS
        if rows[column.name].dtype != np.dtype(column.dtype)
        or not np.array_equal(rows[column.name], live[column.name], equal_nan=column.dtype == "f4")
    ]
    assert different == []


def split(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    at, turn = 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        yield data[at : at + size]
        at, turn = at + size, turn + 1


@pytest.mark.parametrize("sending", SENDINGS)
@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_live_rows_equal_those_of_the_finished_file(path: Path, sending: Sending) -> None:
    try:
        rows = open_replay(path).training_rows(sending=sending)
    except (FormatError, Unsupported) as error:
        if path.stem not in NOT_REPLAYS and "players instead of two" not in str(error):
            raise
        return
    live = live_rows(split(path.read_bytes(), [4096]), sending)
    assert_same(rows, live)


@pytest.mark.parametrize("sending", SENDINGS)
@settings(max_examples=8)
@example(sizes=[1])
@given(sizes=st.lists(st.integers(1, 700), min_size=1, max_size=20))
def test_rows_do_not_depend_on_how_the_bytes_arrive(
    tmp_path_factory: pytest.TempPathFactory, sending: Sending, sizes: list[int]
) -> None:
    data = rolled_back()
    path = tmp_path_factory.mktemp("game") / "Game_a.slp"
    path.write_bytes(data)
    assert_same(open_replay(path).training_rows(sending=sending), live_rows(split(data, sizes), sending))


@pytest.mark.parametrize("sending", SENDINGS)
def test_values_are_those_of_the_events(tmp_path: Path, sending: Sending) -> None:
    """Compares with the frames of the live reader, field by field."""
    path = tmp_path / "Game_a.slp"
    path.write_bytes(synthetic_match(frames=400, rollbacks=True))
    rows = open_replay(path).training_rows(sending=sending)
    frames = [event for event in open_replay(path).events() if isinstance(event, Frame)]
    assert sum(frame.revision > 0 for frame in frames) > 20
    entries: dict[int, Any] = {}
    for frame in frames:
        if sending == "last" or frame.number not in entries:
            entries[frame.number] = frame.entry
    assert rows["frame"].tolist() == sorted(entries)
    players = sorted(next(iter(entries.values())).players)
    for row, number in enumerate(rows["frame"].tolist()):
        for name, index in zip(("p0", "p1"), players, strict=True):
            player = entries[number].players[index]
            assert rows[f"{name}_post_percent"][row] == np.float32(player.post.percent)
            assert rows[f"{name}_post_action_state_id"][row] == player.post.action_state_id
            assert rows[f"{name}_pre_joystick_x"][row] == np.float32(player.pre.joystick_x)
            assert rows[f"{name}_pre_buttons"][row] == player.pre.buttons


@pytest.mark.skipif(kernel is None, reason="the kernel is not built")
@pytest.mark.parametrize("sending", SENDINGS)
@pytest.mark.parametrize("path", REPLAYS, ids=lambda path: path.stem)
def test_rows_are_the_same_without_the_kernel(path: Path, sending: Sending) -> None:
    try:
        rows = open_replay(path).training_rows(sending=sending)
    except (FormatError, Unsupported):
        return  # the same for both
    with without_kernel():
        pure = open_replay(path).training_rows(sending=sending)
    assert list(rows) == list(pure)
    for name, values in rows.items():
        assert values.dtype == pure[name].dtype, name
        assert values.tobytes() == pure[name].tobytes(), name  # NaNs too


def test_flags_are_0_or_1_for_any_byte(tmp_path: Path) -> None:
    data = bytearray(Built().frames(-123, -122).end().closed())
    path = tmp_path / "Game_a.slp"
    path.write_bytes(data)
    offset = open_replay(path).frames.players[0].post.offsets[1]
    field = next(field for field in POST_FRAME.fields if field.name == "is_airborne")
    data[offset + field.offset] = 7
    path.write_bytes(data)
    assert open_replay(path).training_rows()["p0_post_is_airborne"].tolist() == [0, 1]


def test_missing_values_are_nan_or_zero(tmp_path: Path) -> None:
    path = tmp_path / "old.slp"
    path.write_bytes(Built((1, 0, 0)).frames(-123, -110).end().closed())
    rows = open_replay(path).training_rows()
    assert np.isnan(rows["p0_post_hitlag_remaining"]).all()
    assert not rows["p0_post_jumps_remaining"].any()
    assert not rows["p0_follower_exists"].any()
    assert not rows["p0_follower_post_position_x"].any()


@pytest.mark.parametrize(("table", "size"), [(ITEM_UPDATE, 35), (FRAME_START, 4), (FOD_PLATFORMS, 5)])
def test_events_without_basic_fields_have_no_values(tmp_path: Path, table: Table, size: int) -> None:
    sizes = Built().writer.payloads.sizes | {table.command: size}
    game = Built(sizes=sizes)
    game_start = bytearray(game.game_start)
    set_field(game_start, "stage_id", FOUNTAIN_OF_DREAMS)
    game.parts[1] = bytes(game_start)
    data = game.frames(-123, -110, items=2, stage_events=True).end().closed()
    path = tmp_path / "short.slp"
    path.write_bytes(data)
    rows = open_replay(path).training_rows(sending="last")
    assert_same(rows, live_rows(iter([data]), "last"))
    assert any(rows["item0_exists"]) is (table is not ITEM_UPDATE)
    assert any(rows["seed"]) is (table is not FRAME_START)


def test_a_game_of_four_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "doubles.slp"
    path.write_bytes(Built(characters={0: 2, 1: 20, 2: 2, 3: 9}).frames(-123, -110).end().closed())
    with pytest.raises(Unsupported, match="4 players instead of two"):
        open_replay(path).training_rows()


@given(frames=st.lists(st.lists(st.integers(0, 40), unique=True, max_size=20), max_size=30))
def test_items_keep_their_slot_while_they_live(frames: list[list[int]]) -> None:
    slots = ItemSlots()
    before: dict[int, int] = {}
    for spawn_ids in frames:
        given_slots = slots.take(spawn_ids)
        now = {spawn_id: slot for spawn_id, slot in zip(spawn_ids, given_slots, strict=True) if slot >= 0}
        assert len(set(now.values())) == len(now) == min(len(spawn_ids), MAX_ITEMS)
        assert all(now[spawn_id] == slot for spawn_id, slot in before.items() if spawn_id in now)
        before = now


def test_the_slot_freed_last_is_taken_first() -> None:
    slots = ItemSlots()
    assert slots.take([7, 8, 9]) == [0, 1, 2]
    assert slots.take([7, 9]) == [0, 2]
    assert slots.take([7, 9, 10]) == [0, 2, 1]


def test_randall_moves_as_in_libmelee() -> None:
    stages = pytest.importorskip("melee.stages", reason="libmelee is not installed")
    frames = np.arange(-123, 5000)
    x, y = randall(frames)
    for frame, middle, height in zip(frames.tolist(), x.tolist(), y.tolist(), strict=True):
        expected_height, left, right = stages.randall_position(frame)
        assert abs(middle - (left + right) / 2) < 0.002
        assert abs(height - expected_height) < 0.002
