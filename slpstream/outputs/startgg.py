"""A set as start.gg's mutation `reportBracketSet` takes it: its variables, with placeholders for what only start.gg
knows. Pure; nobody is called.

```
mutation ($setId: ID!, $winnerId: ID, $isDQ: Boolean, $gameData: [BracketSetGameDataInput]) {
  reportBracketSet(setId: $setId, winnerId: $winnerId, isDQ: $isDQ, gameData: $gameData) { id state }
}
```

The ids of the set and of its entrants are start.gg's. Where they belong are the texts of `PLACEHOLDERS`; whoever
reports replaces them, or hands the ids in. Entrant 1 is the first of `sides`, whichever that is in the bracket: compare
names before you report. The score of an entrant in a game is the stocks that were left, as start.gg has it for
platform fighters.

start.gg numbers Melee's characters and stages in another way than the game does. The tables are those that bracket
reporting tools of the community use; what they do not have is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PLACEHOLDERS = ("{entrant1}", "{entrant2}")
SET_PLACEHOLDER = "{setId}"

CHARACTER_IDS: Mapping[int, int] = {
    0: 2,  # Captain Falcon
    1: 3,  # Donkey Kong
    2: 6,  # Fox
    3: 16,  # Mr. Game & Watch
    4: 10,  # Kirby
    5: 1,  # Bowser
    6: 11,  # Link
    7: 12,  # Luigi
    8: 13,  # Mario
    9: 14,  # Marth
    10: 15,  # Mewtwo
    11: 17,  # Ness
    12: 18,  # Peach
    13: 20,  # Pikachu
    14: 8,  # Ice Climbers
    15: 9,  # Jigglypuff
    16: 22,  # Samus
    17: 24,  # Yoshi
    18: 26,  # Zelda
    19: 23,  # Sheik
    20: 5,  # Falco
    21: 25,  # Young Link
    22: 4,  # Dr. Mario
    23: 21,  # Roy
    24: 19,  # Pichu
    25: 7,  # Ganondorf
}
"""Melee's external character id to start.gg's."""

STAGE_IDS: Mapping[int, int] = {
    2: 11,  # Fountain of Dreams
    3: 15,  # Pokémon Stadium
    4: 2,  # Princess Peach's Castle
    5: 6,  # Kongo Jungle
    6: 10,  # Brinstar
    7: 13,  # Corneria
    8: 5,  # Yoshi's Story
    9: 17,  # Onett
    10: 16,  # Mute City
    11: 3,  # Rainbow Cruise
    12: 7,  # Jungle Japes
    13: 8,  # Great Bay
    14: 9,  # Hyrule Temple
    15: 24,  # Brinstar Depths
    16: 4,  # Yoshi's Island
    17: 12,  # Green Greens
    18: 28,  # Fourside
    19: 1,  # Mushroom Kingdom I
    20: 21,  # Mushroom Kingdom II
    22: 14,  # Venom
    23: 26,  # Poké Floats
    24: 27,  # Big Blue
    25: 18,  # Icicle Mountain
    27: 29,  # Flat Zone
    28: 25,  # Dream Land N64
    29: 22,  # Yoshi's Island N64
    30: 23,  # Kongo Jungle N64
    31: 19,  # Battlefield
    32: 20,  # Final Destination
}
"""Melee's stage id to start.gg's."""


def bracket_set(
    played: Mapping[str, Any],
    *,
    set_id: str | int = SET_PLACEHOLDER,
    entrants: Sequence[str | int] = PLACEHOLDERS,
) -> dict[str, Any] | None:
    """The variables of the mutation for the payload of a `set` message; `None` unless it has two sides, and a game.

    `winnerId` is there once somebody has won. `gameData` has the games that count, in order; it is left out when they
    do not add up to the score, because an operator has changed that or some of the games are not in the payload.
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


def _game(number: int, game: Mapping[str, Any], entrants: Sequence[str | int]) -> dict[str, Any]:
    """A `BracketSetGameDataInput`."""
    data: dict[str, Any] = {"gameNum": number, "winnerId": entrants[game["winner"]]}
    players = [player for player in game.get("players") or () if player.get("side") in (0, 1)]
    for side in (0, 1):
        stocks = [player.get("stocks") for player in players if player["side"] == side]
        if stocks and None not in stocks:
            data[f"entrant{side + 1}Score"] = sum(stocks)
    stage = STAGE_IDS.get(game.get("stageId", -1))
    if stage is not None:
        data["stageId"] = stage
    data["selections"] = [
        {"entrantId": entrants[player["side"]], "characterId": CHARACTER_IDS[player["characterId"]]}
        for player in players
        if player.get("characterId") in CHARACTER_IDS
    ]
    return data
