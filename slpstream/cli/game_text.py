"""Players and lengths of games, in the form in which the tables of `info` and `stats` show them."""

from __future__ import annotations

from typing import Any

from slpstream.formats.registry import describe
from slpstream.model.events import GameEnd, GameStart
from slpstream.model.summary import GameSummary, PlayerSummary


def summary_of(format_name: str, settings: Any, end: GameEnd | None) -> GameSummary:
    """Return the neutral summary of a game. It doesn't have the names that only occur in the metadata."""
    return describe(GameStart(0, format_name, "", settings, (60, 1)), end)


def mode_text(summary: GameSummary) -> str:
    """Return the mode, such as `time mode`. For the usual mode, this is empty."""
    return f"{summary.mode} mode" if summary.mode.isalpha() else summary.mode


def player_text(player: PlayerSummary, *, won: bool) -> str:
    """Return one line about a player, with port, character, name, connect code, and a star for a winner."""
    port = player.index + 1 if player.port is None else player.port
    code = f"({player.code})" if player.code else ""
    parts = (f"P{port}", player.character.text, player.shown_name, code, "*" if won else "")
    return " ".join(part for part in parts if part)


def length_text(seconds: float | None) -> str:
    """Format a time as minutes and seconds with one decimal. Returns an empty text for `None`."""
    if seconds is None:
        return ""
    minutes, tenths = divmod(round(seconds * 10), 600)
    return f"{minutes}:{tenths / 10:04.1f}"
