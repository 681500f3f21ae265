"""The table `frames` has a row for each frame and character in each game.

We only decode those columns that a query uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from slpstream.formats.slippi.action_states import state_name
from slpstream.formats.slippi.arrow import FRAMES_SCHEMA, frames_table
from slpstream.formats.slippi.names import character_name, stage_name
from slpstream.parts import registry
from slpstream.parts.sql.column import FILE, GAME_ID, SMALL, STAGE, TEXT, column
from slpstream.parts.sql.queried import Holds, Opened, Queried

_STATE, _FIGHTER = "post_action_state_id", "post_internal_character_id"
_MAX_PLAYERS = 256
_KEYS = 4
_odds_in_rows = registry.function("odds_in_rows")
"""Returns the odds in many frames, if a part knows them."""

SCHEMA = pa.schema(
    [
        FILE,
        GAME_ID,
        STAGE,
        *list(FRAMES_SCHEMA)[:_KEYS],
        column("port", SMALL, "Controller port, player index + 1."),
        column("character", TEXT, "Character that the player chose; null for an unknown id."),
        column("action_state", TEXT, "Name of post_action_state_id; null for an id without a name."),
        *list(FRAMES_SCHEMA)[_KEYS:],
        *([column("odds", pa.float32(), "Chance of the player to win, from 0 to 1.")] if _odds_in_rows else []),
    ]
)


def table(queried: Queried, columns: frozenset[str], holds: Holds) -> pa.Table | None:
    """Return the rows of a game with these columns, in the order of the schema, or `None` if no row can pass the
    filter.

    In the second case, we only read the beginning of the file.
    """
    replay = queried.replay
    if replay.format != "slippi":
        return None
    settings = replay.settings
    game = {"file": queried.file, "game_id": replay.game_id, "stage": stage_name(settings.stage_id)}
    characters = {player.player_index: character_name(player.character_id) for player in settings.players}
    # A damaged replay can have frames of players who are not in the settings.
    if not any(holds({**game, "character": name}) for name in {*characters.values(), None}):
        return None
    sources = columns & frozenset(FRAMES_SCHEMA.names)
    if not columns.isdisjoint(("port", "character", "odds")):
        sources |= {"player_index"}
    if "odds" in columns:
        sources |= {"frame"}
    if "action_state" in columns:
        sources |= {_STATE, _FIGHTER}
    decoded = frames_table(replay.frames, sources or {"frame"})
    return pa.Table.from_arrays(
        [
            _odds(replay, decoded) if name == "odds" else _values(name, decoded, game, characters)
            for name in SCHEMA.names
            if name in columns
        ],
        schema=pa.schema([SCHEMA.field(name) for name in SCHEMA.names if name in columns]),
    )


def _odds(replay: Opened, decoded: pa.Table) -> Any:
    if _odds_in_rows is None:
        return pa.nulls(len(decoded), pa.float32())
    numbers, players = decoded["frame"].to_numpy(), decoded["player_index"].to_numpy()
    return pa.array(_odds_in_rows(replay.settings, replay.frames, numbers, players), from_pandas=True)


def _values(name: str, decoded: pa.Table, game: Mapping[str, Any], characters: Mapping[int, str | None]) -> Any:
    if name in game:
        return pa.repeat(pa.scalar(game[name], TEXT), len(decoded))
    if name == "port":
        return pa.Array.from_buffers(SMALL, len(decoded), [None, pa.py_buffer(_players(decoded) + np.uint8(1))])
    if name == "character":
        names = pa.array([characters.get(index) for index in range(_MAX_PLAYERS)], TEXT)
        return names.take(decoded["player_index"])
    if name == "action_state":
        return _state_names(decoded)
    return decoded[name]


def _players(decoded: pa.Table) -> Any:
    return decoded["player_index"].to_numpy().astype(np.uint8)


def _state_names(decoded: pa.Table) -> Any:
    """Return the names of the states. Each combination of state and fighter is only looked up once."""
    states, fighters = decoded[_STATE], decoded[_FIGHTER]
    pairs = (_numbers(fighters) << 16) | _numbers(states)
    kinds, rows = np.unique(pairs, return_inverse=True)
    names = [state_name(int(pair) >> 16, int(pair) & 0xFFFF) for pair in kinds]
    named = pa.array(names, TEXT).take(pa.array(rows.ravel()))
    return compute.if_else(states.combine_chunks().is_valid(), named, pa.scalar(None, TEXT))


def _numbers(values: Any) -> Any:
    return values.fill_null(0).to_numpy().astype(np.int64)
