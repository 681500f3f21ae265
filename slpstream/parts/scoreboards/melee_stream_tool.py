"""Melee Stream Tool, which reads `ScoreboardInfo.json` and `Simple Texts` from its folder `Resources/Texts`.

We have looked at Readek/Melee-Stream-Tool bcaadfa. Its overlay reads the file twice a second, and if it finds half a
file, it breaks, so we always replace the whole file. If the tool has other keys, or keys that only its user knows
(social media, W and L), we keep them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from slpstream.formats.slippi.stream_tool_names import stream_tool_names
from slpstream.parts.scoreboards.board import Board
from slpstream.parts.scoreboards.files import JsonFile, TextFiles

FILE_NAME: Final = "ScoreboardInfo.json"
TEXTS_FOLDER: Final = "Simple Texts"
MAX_SCORE: Final = 3
_SHORT_SET: Final = 3
_COLORS: Final = ("Red", "Blue", "Yellow", "Green")
"""By port."""
_OF_PLAYER: Final[Mapping[str, Any]] = {
    "Name": "",
    "Team": "",
    "Character": "Random",
    "Skin": "Default",
    "Color": "CPU",
    "Score": 0,
    "WL": "Nada",
}
_OF_CASTER: Final = ("Name", "Twitter", "Twitch")
DEFAULTS: Final[Mapping[str, Any]] = {
    **{f"p{number}{key}": value for number in (1, 2) for key, value in _OF_PLAYER.items()},
    "bestOf": "Bo3",
    "round": "",
    "tournamentName": "",
    **{f"caster{number}{key}": "" for number in (1, 2) for key in _OF_CASTER},
    "allowIntro": False,
}
"""Every key that the overlay reads, with a value that it accepts."""


class MeleeStreamTool:
    """The files of one installation."""

    def __init__(self, folder: Path) -> None:
        """`folder` is `Resources/Texts` of the tool."""
        self._info = JsonFile(folder / FILE_NAME, DEFAULTS)
        self._texts = TextFiles(folder / TEXTS_FOLDER, exclusive=False)

    def update(self, board: Board | None) -> bool:
        """Show a board. Returns whether a file has changed. This blocks, and raises `SinkError` if it fails."""
        if board is None:
            return False
        values = scoreboard_info(board)
        changed = self._info.update(values)
        return self._texts.update(_simple_texts(values)) or changed


def scoreboard_info(board: Board) -> dict[str, Any]:
    """Return the values of our keys. If we don't know one of them, it is `None`.

    The tool only has one player for each side. In doubles, we use the names of both players and the character of the
    first.
    """
    values: dict[str, Any] = {}
    for number, side in enumerate(board.sides, 1):
        player = side.players[0] if side.players else None
        shown = None if player is None else stream_tool_names(player.character_id, player.character_color or 0)
        of_player = {
            "Name": side.name,
            "Team": player.sponsor if player is not None and len(side.players) == 1 else None,
            "Character": None if shown is None else shown[0],
            "Skin": None if shown is None else shown[1],
            "Color": _COLORS[player.port - 1] if player is not None and 0 < player.port <= len(_COLORS) else None,
            "Score": min(side.score, MAX_SCORE),
        }
        values |= {f"p{number}{key}": value for key, value in of_player.items()}
    values["bestOf"] = "Bo3" if board.best_of <= _SHORT_SET else "Bo5"
    values |= {"round": board.round, "tournamentName": board.event}
    for number in (1, 2):
        values[f"caster{number}Name"] = board.casters[number - 1] if number <= len(board.casters) else None
    return values


def _simple_texts(values: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "Player 1.txt": values["p1Name"],
        "Player 2.txt": values["p2Name"],
        "Round.txt": values["round"],
        "Tournament Name.txt": values["tournamentName"],
        "Caster 1 Name.txt": values["caster1Name"],
        "Caster 2 Name.txt": values["caster2Name"],
    }
