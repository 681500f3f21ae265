"""Players and lengths of games as the tables of `info` and `stats` show them."""

from __future__ import annotations

from typing import Any

from slpstream.formats.registry import describe
from slpstream.model.events import GameEnd, GameStart
from slpstream.model.summary import GameSummary, PlayerSummary


def summary_of(format_name: str, settings: Any, end: GameEnd | None) -> GameSummary:
    """The neutral summary of a game, without names that occur only in the metadata."""
    return describe(GameStart(0, format_name, "", settings, (60, 1)), end)


def mode_text(summary: GameSummary) -> str:
    """The mode, such as `time mode`; empty for the usual one."""
    return f"{summary.mode} mode" if summary.mode.isalpha() else summary.mode


def player_text(player: PlayerSummary, *, won: bool) -> str:
    """One line about a player: port, character, name, connect code, and a star for a winner."""
    port = player.index + 1 if player.port is None else player.port
    code = f"({player.code})" if player.code else ""
    parts = (f"P{port}", player.character.text, player.shown_name, code, "*" if won else "")
    return " ".join(part for part in parts if part)


def length_text(seconds: float | None) -> str:
    """Format a time as minutes and seconds with one decimal; `None` is empty."""
    if seconds is None:
        return ""
    minutes, tenths = divmod(round(seconds * 10), 600)
    return f"{minutes}:{tenths / 10:04.1f}"
