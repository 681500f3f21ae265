"""The rows and files that slippi-ai uses for its training sets (the layout `slippi-ai`, as of August 2026).

There is one Parquet file in `games/` for each replay. Its name is the MD5 of the replay's bytes, and it has one struct
column, `root`. To select games, slippi-ai reads `meta.json`. As in slippi-ai, the characters and the stage in a row
have their internal ids, but the stage in `meta.json` has its external id. slippi-ai always uses the first sending of
each frame.
"""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import timer_start
from slpstream.parts.training.columns import MAX_ITEMS, PLAYERS
from slpstream.parts.training.names import GAMES, META
from slpstream.parts.training.parts import WrittenPart, listed, write_whole
from slpstream.parts.training.rows import Rows, players_of

_INTERNAL_STAGE = {2: 8, 3: 18, 8: 6, 28: 26, 31: 24, 32: 25}
"""libmelee's number of a stage by the one in Game Start, for the stages of tournaments, or 0 for all others."""

_BUTTONS = {"A": 0x100, "B": 0x200, "X": 0x400, "Y": 0x800, "Z": 0x10, "L": 0x40, "R": 0x20, "D_UP": 0x8}

Array = npt.NDArray[Any]


def game_array(rows: Rows) -> pa.StructArray:
    """Return the column `root`, which contains one struct per frame."""
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
    """Return the rows of a game in the way slippi-ai stores them, which is a zlib stream around an uncompressed Parquet
    file.
    """
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
    """Return those fields that a player and a follower have in common."""

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


_MIN_VERSION = (2, 1, 0)
_MIN_LAST_FRAME = 3600
_TIMER_SECONDS = 480
_HUMAN = 0
_MAX_CHARACTER, _MAX_JUMPS, _MAX_POSITION, _MAX_SHIELD = 0x20, 6, 500.0, 60.0


def unfit(settings: Settings, rows: Rows, last_frame: int) -> str:
    """Return the reason why slippi-ai wouldn't train on a game. If it would, this is empty."""
    numbers = rows["frame"]
    starts_at = timer_start(int(numbers[0])) if len(numbers) else 0
    version = tuple(int(part) for part in settings.slp_version.split("."))
    checks = (
        (version >= _MIN_VERSION, "replay version below 2.1.0"),
        (all(player.type == _HUMAN for player in settings.players), "not two humans"),
        (last_frame - starts_at >= _MIN_LAST_FRAME, "shorter than 3600 frames"),
        (settings.starting_timer_seconds == _TIMER_SECONDS, "timer is not 8 minutes"),
        (settings.stage_id in _INTERNAL_STAGE, "not a tournament stage"),
        (_has_sane_values(rows), "impossible values"),
    )
    return next((reason for holds, reason in checks if not holds), "")


def _has_sane_values(rows: Rows) -> bool:
    limits = {
        "internal_character_id": (0, _MAX_CHARACTER),
        "jumps_remaining": (0, _MAX_JUMPS),
        "position_x": (-_MAX_POSITION, _MAX_POSITION),
        "position_y": (-_MAX_POSITION, _MAX_POSITION),
        "shield_size": (0, _MAX_SHIELD),
    }
    columns = ((rows[f"{p}_post_{name}"], bounds) for p in PLAYERS for name, bounds in limits.items())
    return len(rows["frame"]) > 0 and all(
        bool(((values >= low) & (values <= high)).all()) for values, (low, high) in columns
    )


def meta(settings: Settings, rows: Rows, *, last_frame: int, winners: Sequence[int]) -> dict[str, Any]:
    """Return the entry of the game for `meta.json`, but without its files.

    `winners` are player indices, whereas `winner` in the entry is the place of a player in `players`.
    """
    match = settings.match_info
    indices = players_of(settings)
    reason = unfit(settings, rows, last_frame)
    return {
        "lastFrame": last_frame,
        "slippi_version": [int(part) for part in settings.slp_version.split(".")],
        "match": {
            "id": match.session_id,
            "game": match.game_number or 0,  # UNSET is false
            "tiebreaker": match.tiebreaker_number or 0,
        },
        "num_players": len(settings.players),
        "players": [_meta_player(settings, rows, p, place) for place, p in enumerate(PLAYERS)],
        "stage": settings.stage_id,
        "timer": settings.starting_timer_seconds,
        "is_teams": settings.is_teams,
        "winner": indices.index(winners[0]) if len(winners) == 1 and winners[0] in indices else None,
        "valid": True,
        "is_training": not reason,
        "not_training_reason": reason,
    }


def _meta_player(settings: Settings, rows: Rows, p: str, place: int) -> dict[str, Any]:
    player = sorted(settings.players, key=lambda player: player.player_index)[place]
    characters = rows[f"{p}_post_internal_character_id"]
    percent = np.nan_to_num(rows[f"{p}_post_percent"].astype(np.float64))
    return {
        "port": player.player_index,
        "character": int(np.bincount(characters).argmax()) if len(characters) else None,
        "type": player.type,
        "name_tag": player.nametag,
        "netplay": {"name": player.display_name, "code": player.connect_code, "suid": player.user_id},
        "damage_taken": float(np.maximum(np.diff(percent, prepend=0.0), 0).sum()),
    }


class GameFiles:
    """Writes the games of one part of an export. Each game gets its own file."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._games: list[dict[str, Any]] = []

    def add(self, rows: Rows, replay: bytes, name: str, about: dict[str, Any]) -> None:
        """Write a game. `about` is the entry that you got from `meta`. Raises `OSError` if it fails."""
        md5 = hashlib.md5(replay, usedforsecurity=False).hexdigest()
        content = parquet_file(rows)
        final = self._folder / GAMES / md5
        temporary = final.with_name(f".{md5}.tmp")
        temporary.write_bytes(content)
        temporary.replace(final)
        files = {"name": name, "slp_md5": md5, "slp_size": len(replay)}
        self._games.append({**files, **about, "pq_size": len(content), "compression": "zlib", "raw": name})

    def finish(self, problems: Iterable[tuple[int, str]]) -> WrittenPart:
        """Return the part. You should only call this when all of its files were written."""
        files = tuple(f"{GAMES}/{game['slp_md5']}" for game in self._games)
        return WrittenPart(self._number, files, self._games, list(problems))


def write_meta(folder: Path, parts: int) -> None:
    """Write the list of all games, from which slippi-ai makes its selection. Raises `OSError` if it fails."""
    ours = ("gameId", "frames")
    games = [{key: value for key, value in game.items() if key not in ours} for game in listed(folder, parts)[0]]
    write_whole(folder / META, json.dumps(games, indent=1))
