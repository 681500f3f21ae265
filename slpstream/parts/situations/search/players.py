"""The pairs of player and opponent in a game that match a query."""

from __future__ import annotations

from collections.abc import Sequence

from slpstream.formats.slippi.game_start import PlayerSettings, Settings
from slpstream.parts.situations.search.messages import GameSetup, SetupPlayer
from slpstream.parts.situations.search.query import Name, Names, Query


def pairs_of(query: Query, settings: Settings | GameSetup) -> list[tuple[int, int]]:
    """Return the pairs of player indices (player and opponent) that match a query, in ascending order.

    Players of the same team aren't opponents.
    """
    found: Sequence[PlayerSettings | SetupPlayer] = settings.players
    players = sorted(found, key=lambda player: player.player_index)
    return [
        (player.player_index, opponent.player_index)
        for player in players
        if _is_named(player, query.player)
        for opponent in players
        if opponent.player_index != player.player_index
        and not (settings.is_teams and len(players) > 2 and opponent.team_id == player.team_id)
        and _is_named(opponent, query.opponent)
    ]


def _is_named(player: PlayerSettings | SetupPlayer, names: Names) -> bool:
    return not names or any(all(_fits(player, name) for name in together) for together in names)


def _fits(player: PlayerSettings | SetupPlayer, name: Name) -> bool:
    if name.character is not None and player.character_id != name.character:
        return False
    if name.port is not None and player.port != name.port:
        return False
    code = player.connect_code.casefold()
    if name.code is not None and code != name.code:
        return False
    return name.text is None or name.text in (player.display_name.casefold(), player.nametag.casefold(), code)
