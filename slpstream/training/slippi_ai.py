"""The rows and files of slippi-ai's training sets (the layout `slippi-ai`, as of August 2026).

One Parquet file a replay, named by the MD5 of the replay's bytes, with one struct column `root`; `games/` has these
files and `meta.json` what slippi-ai chooses them by. Characters and the stage in a row have their internal ids, and the
stage in `meta.json` its external one, as there. Rows are made from the first sending of each frame.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from slpstream.training.columns import MAX_ITEMS
from slpstream.training.rows import Rows

_INTERNAL_STAGE = {2: 8, 3: 18, 8: 6, 28: 26, 31: 24, 32: 25}
"""libmelee's number of a stage by the one in Game Start, for the stages of tournaments; 0 for all others."""

_BUTTONS = {"A": 0x100, "B": 0x200, "X": 0x400, "Y": 0x800, "Z": 0x10, "L": 0x40, "R": 0x20, "D_UP": 0x8}

Array = npt.NDArray[Any]


def game_array(rows: Rows) -> pa.StructArray:
    """The column `root`: one struct a frame."""
    count = len(rows["frame"])
    stage = _INTERNAL_STAGE.get(int(rows["stage_id"][0]), 0) if count else 0
    return _struct(
        p0=_player(rows, "p0"),
        p1=_player(rows, "p1"),
        stage=pa.array(np.full(count, stage, np.uint8)),
        randall=_struct(x=_float(rows["randall_x"]), y=_float(rows["randall_y"])),
        fod_platforms=_struct(left=_float(rows["fod_left"]), right=_float(rows["fod_right"])),
        items=_struct(**{f"item_{slot}": _item(rows, slot) for slot in range(MAX_ITEMS)}),
    )


def parquet_file(rows: Rows) -> bytes:
    """The rows of a game as slippi-ai stores them: a zlib stream around an uncompressed Parquet file."""
    root = game_array(rows)
    schema = pa.schema([pa.field("root", root.type, nullable=False)])
    sink = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays([root], schema=schema), sink, version="2.4", compression="none", use_dictionary=False
    )
    return zlib.compress(sink.getvalue())


def _player(rows: Rows, p: str) -> pa.StructArray:
    return _struct(
        **_fighter(rows, f"{p}_post"),
        controller=_struct(
            main_stick=_stick(rows, f"{p}_pre_joystick"),
            c_stick=_stick(rows, f"{p}_pre_c_stick"),
            shoulder=_float(rows[f"{p}_pre_trigger"]),
            buttons=_struct(**{name: _flag(rows[f"{p}_pre_buttons"] & bit) for name, bit in _BUTTONS.items()}),
        ),
        nana=_struct(exists=_flag(rows[f"{p}_follower_exists"]), **_fighter(rows, f"{p}_follower_post")),
    )


def _fighter(rows: Rows, prefix: str) -> dict[str, pa.Array]:
    """What a player and a follower have in common."""

    def value(name: str) -> Array:
        values: Array = rows[f"{prefix}_{name}"]
        return values

    return {
        "percent": pa.array(np.nan_to_num(value("percent")).astype(np.uint16)),
        "facing": _flag(value("facing_direction") > 0),
        "x": _float(value("position_x")),
        "y": _float(value("position_y")),
        "action": pa.array(value("action_state_id")),
        "invulnerable": _flag(value("hurtbox_collision_state")),
        "character": pa.array(value("internal_character_id")),
        "jumps_left": pa.array(value("jumps_remaining")),
        "shield_strength": _float(value("shield_size")),
        "on_ground": _flag((value("is_airborne") == 0) & _present(rows, prefix)),
    }


def _present(rows: Rows, prefix: str) -> Array:
    present: Array = rows[f"{prefix.removesuffix('_post')}_exists"] != 0
    return present


def _stick(rows: Rows, prefix: str) -> pa.StructArray:
    return _struct(
        x=_float(rows[f"{prefix}_x"] / np.float32(2) + np.float32(0.5)),
        y=_float(rows[f"{prefix}_y"] / np.float32(2) + np.float32(0.5)),
    )


def _item(rows: Rows, slot: int) -> pa.StructArray:
    prefix = f"item{slot}"
    return _struct(
        exists=_flag(rows[f"{prefix}_exists"]),
        type=pa.array(rows[f"{prefix}_type_id"]),
        state=pa.array(rows[f"{prefix}_state"]),
        x=_float(rows[f"{prefix}_position_x"]),
        y=_float(rows[f"{prefix}_position_y"]),
    )


def _float(values: Array) -> pa.Array:
    return pa.array(np.ascontiguousarray(values, np.float32), from_pandas=False)


def _flag(values: Array) -> pa.Array:
    return pa.array(values != 0)


def _struct(**fields: pa.Array) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
