"""A game in three short texts, for tables that people read."""

from __future__ import annotations

from collections.abc import Iterable

from slpstream.formats.slippi.game_start import PlayerSettings, Settings
from slpstream.formats.slippi.names import character_name, stage_name
from slpstream.formats.slippi.result import Placement


def summary(settings: Settings, winners: Iterable[Placement]) -> tuple[str, str, str]:
    """Version, stage, and a line for each player: port, character, name, connect code, a star for a winner."""
    first = {winner.player_index for winner in winners}
    players = "\n".join(player_text(player, won=player.player_index in first) for player in settings.players)
    return settings.slp_version, stage_name(settings.stage_id) or f"stage {settings.stage_id}", players


def player_text(player: PlayerSettings, *, won: bool) -> str:
    """A player on one line: port, character, name, connect code, a star for a winner."""
    name = player.display_name or player.nametag
    code = f" ({player.connect_code})" if player.connect_code else ""
    character = character_name(player.character_id) or f"character {player.character_id}"
    return f"P{player.port} {character}{f' {name}' if name else ''}{code}{' *' if won else ''}"
