"""A set as variables of start.gg's mutation `reportBracketSet`. Pure: nothing is sent.

```
mutation ($setId: ID!, $winnerId: ID, $isDQ: Boolean, $gameData: [BracketSetGameDataInput]) {
  reportBracketSet(setId: $setId, winnerId: $winnerId, isDQ: $isDQ, gameData: $gameData) { id state }
}
```

Only start.gg knows the ids of the set and of its entrants. `SET_PLACEHOLDER` and `PLACEHOLDERS` stand in their place
unless the caller passes the ids. Entrant 1 is the first of `sides`, which need not be the first in the bracket: compare
the names before reporting. An entrant's score in a game is the number of stocks left, as start.gg has it for platform
fighters.

start.gg numbers Melee's characters and stages differently from the game. `startgg.json` maps the game's ids to
start.gg's; characters and stages without one are left out of the variables.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from slpstream.model.prepared import prepared

PLACEHOLDERS = ("{entrant1}", "{entrant2}")
SET_PLACEHOLDER = "{setId}"


def bracket_set(
    played: Mapping[str, Any],
    *,
    set_id: str | int = SET_PLACEHOLDER,
    entrants: Sequence[str | int] = PLACEHOLDERS,
) -> dict[str, Any] | None:
    """The variables of the mutation for the payload of a `set` message; `None` without two sides or without a game.

    `winnerId` is present once the set has a winner. `gameData` has the games that count, in order. It is left out when
    they do not add up to the score, because an operator changed the score or the payload lacks some games.
    """
    sides, games = played.get("sides") or (), played.get("games") or ()
    if len(sides) != 2 or len(entrants) != 2 or not games:
        return None
    variables: dict[str, Any] = {"setId": set_id, "isDQ": False}
    if played.get("winner") in (0, 1):
        variables["winnerId"] = entrants[played["winner"]]
    counted = [game for game in games if game.get("counts") and game.get("winner") in (0, 1)]
    won = [sum(game["winner"] == side for game in counted) for side in (0, 1)]
    if won == [side.get("score") for side in sides]:
        variables["gameData"] = [_game(number, game, entrants) for number, game in enumerate(counted, 1)]
    return variables


@functools.cache
def ids(table: Literal["characters", "stages"]) -> Mapping[int, int]:
    """start.gg's ids by Melee's: external character ids, or stage ids."""
    content = Path(__file__).with_suffix(".json").read_bytes()
    return msgspec.json.decode(content, type=_Content).tables[table]


@prepared
class _Content(msgspec.Struct):
    tables: dict[str, dict[int, int]]


def _game(number: int, game: Mapping[str, Any], entrants: Sequence[str | int]) -> dict[str, Any]:
    """A `BracketSetGameDataInput`."""
    data: dict[str, Any] = {"gameNum": number, "winnerId": entrants[game["winner"]]}
    players = [player for player in game.get("players") or () if player.get("side") in (0, 1)]
    for side in (0, 1):
        stocks = [player.get("stocks") for player in players if player["side"] == side]
        if stocks and None not in stocks:
            data[f"entrant{side + 1}Score"] = sum(stocks)
    stage = ids("stages").get(game.get("stageId", -1))
    if stage is not None:
        data["stageId"] = stage
    data["selections"] = [
        {"entrantId": entrants[player["side"]], "characterId": character}
        for player in players
        if (character := ids("characters").get(player.get("characterId"))) is not None
    ]
    return data
