"""The table `conversions` has a row for each conversion in each game. They come from the stats of the game."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from msgspec import UNSET

from slpstream.formats.slippi.names import character_name, move_name, stage_name
from slpstream.formats.slippi.stats.schema import Conversion
from slpstream.parts import registry
from slpstream.parts.services import OddsOfGame, Span
from slpstream.parts.sql.column import COUNT, FILE, FLAG, GAME_ID, REAL, SMALL, STAGE, TEXT, column
from slpstream.parts.sql.queried import Holds, Queried, Row

_column_odds = registry.function("column_odds")
"""Returns the odds of a game, if a part knows them."""
_MOVE = pa.struct(
    [
        ("player_index", SMALL),
        ("frame", COUNT),
        ("move_id", SMALL),
        ("move", TEXT),
        ("hit_count", COUNT),
        ("damage", REAL),
    ]
)
SCHEMA = pa.schema(
    [
        FILE,
        GAME_ID,
        STAGE,
        column("number", COUNT, "Number of the conversion in its game, from 1."),
        column("player_index", SMALL, "The player who was hit."),
        column("port", SMALL, "Port of the player who was hit."),
        column("character", TEXT, "Character of the player who was hit."),
        column("last_hit_by", SMALL, "Player index of the one who hit; null when it is not known."),
        column("attacker_port", SMALL, "Port of the player who hit."),
        column("attacker_character", TEXT, "Character of the player who hit."),
        column("start_frame", COUNT, "Frame number of the first hit."),
        column("end_frame", COUNT, "Frame number of the end; null for one that the game's end cut off."),
        column("start_percent", REAL, "Percent before the first hit.", "percent"),
        column("current_percent", REAL, "Percent after the last hit.", "percent"),
        column("end_percent", REAL, "Percent at the end.", "percent"),
        column("damage", REAL, "Damage of all moves.", "percent"),
        column("did_kill", FLAG, "True if it took a stock."),
        column("opening_type", TEXT, "neutral-win, counter-attack or trade."),
        column("move_count", COUNT, "Number of moves."),
        column("first_move", TEXT, "Name of the first move."),
        column("last_move", TEXT, "Name of the last move."),
        column("moves", pa.list_(_MOVE), "All moves, in order."),
        *(
            [column("swing", REAL, "How much likelier the player who hit was to win after it, from -1 to 1.")]
            if _column_odds
            else []
        ),
    ]
)


def rows(queried: Queried, columns: frozenset[str], holds: Holds) -> list[Row]:
    """Return the rows of a game. If there's no row that could pass the filter, we don't compute its stats."""
    replay = queried.replay
    if replay.format != "slippi":
        return []
    settings = replay.settings
    facts = {"file": queried.file, "game_id": replay.game_id, "stage": stage_name(settings.stage_id)}
    if not holds(facts):
        return []
    characters = {player.player_index: character_name(player.character_id) for player in settings.players}
    conversions = replay.stats().conversions
    found: list[Row] = [facts | _row(number, each, characters) for number, each in enumerate(conversions, 1)]
    if _column_odds is None or "swing" not in columns:
        return found
    odds: OddsOfGame | None = _column_odds(settings, replay.frames)
    if odds is None:
        return found
    return [{**row, "swing": _swing(odds, row, characters)} for row in found]


def _swing(odds: OddsOfGame, row: Row, players: Iterable[int]) -> float | None:
    others = [player for player in players if player != row["player_index"]]
    end = row["end_frame"]
    swing = None if end is None or len(others) != 1 else odds.swing(Span(others[0], row["start_frame"], end))
    return None if swing is None else swing.gained


def _row(number: int, conversion: Conversion, characters: dict[int, str | None]) -> dict[str, Any]:
    hitter = conversion.last_hit_by
    attacker = hitter if hitter is not UNSET and hitter in characters else None
    names = [move_name(move.move_id) for move in conversion.moves]
    return {
        "number": number,
        "player_index": conversion.player_index,
        "port": conversion.player_index + 1,
        "character": characters.get(conversion.player_index),
        "last_hit_by": attacker,
        "attacker_port": None if attacker is None else attacker + 1,
        "attacker_character": None if attacker is None else characters.get(attacker),
        "start_frame": conversion.start_frame,
        "end_frame": None if conversion.end_frame is UNSET else conversion.end_frame,
        "start_percent": conversion.start_percent,
        "current_percent": conversion.current_percent,
        "end_percent": None if conversion.end_percent is UNSET else conversion.end_percent,
        "damage": sum(move.damage for move in conversion.moves),
        "did_kill": conversion.did_kill,
        "opening_type": conversion.opening_type,
        "move_count": len(conversion.moves),
        "first_move": names[0] if names else None,
        "last_move": names[-1] if names else None,
        "moves": [
            {
                "player_index": move.player_index,
                "frame": move.frame,
                "move_id": move.move_id,
                "move": name,
                "hit_count": move.hit_count,
                "damage": move.damage,
            }
            for move, name in zip(conversion.moves, names, strict=True)
        ],
    }
