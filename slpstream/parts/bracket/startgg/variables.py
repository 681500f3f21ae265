"""Turn results into variables for start.gg's mutation `reportBracketSet`. This module doesn't send anything:

    mutation ($setId: ID!, $winnerId: ID, $isDQ: Boolean, $gameData: [BracketSetGameDataInput]) {
      reportBracketSet(setId: $setId, winnerId: $winnerId, isDQ: $isDQ, gameData: $gameData) { id state }
    }

In a game, the score of an entrant is how many stocks are left. This is the convention that start.gg has for platform
fighters.

start.gg has other numbers for Melee's characters and stages than the game, so we use `ids.json` to map the ids. If a
character or stage doesn't have an id there, it is left out of the variables.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from slpstream.model.prepared import prepared
from slpstream.parts.bracket.reported_games import ReportedGame, reported_games

PLACEHOLDERS = ("{entrant1}", "{entrant2}")
SET_PLACEHOLDER = "{setId}"


def bracket_set(
    played: Mapping[str, Any],
    *,
    set_id: str | int = SET_PLACEHOLDER,
    entrants: Sequence[str | int] = PLACEHOLDERS,
) -> dict[str, Any] | None:
    """Return the variables of the mutation for the payload of a `set` message. Returns `None` if it doesn't have two
    sides and a game.

    `winnerId` is present once the set has a winner. `gameData` contains the games that count, in order. If an operator
    has changed the score, or if some games are missing in the payload, the games don't add up to the score. In this
    case, `gameData` is left out.

    Only start.gg knows the ids of the set and of its entrants, so by default, you get `SET_PLACEHOLDER` and
    `PLACEHOLDERS` instead of them. Entrant 1 is the first of the `sides`. This might not be the one that comes first in
    the bracket, so make sure that you compare the names before you report anything.
    """
    sides, games = played.get("sides") or (), played.get("games") or ()
    if len(sides) != 2 or len(entrants) != 2 or not games:
        return None
    winner = played.get("winner")
    return report_variables(set_id, entrants, winner if winner in (0, 1) else None, reported_games(played))


def report_variables(
    set_id: str | int, entrants: Sequence[str | int], winner: int | None, games: Sequence[ReportedGame] | None
) -> dict[str, Any]:
    """Return the variables of the mutation for a result.

    If you don't pass a `winner`, this means that the set is still being played.
    """
    made: dict[str, Any] = {"setId": set_id, "isDQ": False}
    if winner is not None:
        made["winnerId"] = entrants[winner]
    if games is not None:
        made["gameData"] = [_game(number, game, entrants) for number, game in enumerate(games, 1)]
    return made


@functools.cache
def ids(table: Literal["characters", "stages"]) -> Mapping[int, int]:
    """Return start.gg's ids by Melee's, which are external character ids or stage ids."""
    content = Path(__file__).with_name("ids.json").read_bytes()
    return msgspec.json.decode(content, type=_Content).tables[table]


@prepared
class _Content(msgspec.Struct):
    tables: dict[str, dict[int, int]]


def _game(number: int, game: ReportedGame, entrants: Sequence[str | int]) -> dict[str, Any]:
    """Return a `BracketSetGameDataInput`. In doubles, an entrant has a selection for each of its players."""
    data: dict[str, Any] = {"gameNum": number, "winnerId": entrants[game.winner]}
    for side, stocks in enumerate(game.stocks):
        if stocks is not None:
            data[f"entrant{side + 1}Score"] = stocks
    stage = None if game.stage_id is None else ids("stages").get(game.stage_id)
    if stage is not None:
        data["stageId"] = stage
    data["selections"] = [
        {"entrantId": entrants[side], "characterId": character}
        for side, of_player in game.characters
        if (character := ids("characters").get(of_player)) is not None
    ]
    return data
