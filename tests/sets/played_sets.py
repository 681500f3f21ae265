"""Payloads of `set` messages, built by slpstream's sets from made-up games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from slpstream.sets import PlayedGame, Player
from tests.sets.games import CorrectedGames

FOX, MARTH, FALCO, SHEIK, PEACH, DONKEY_KONG = 2, 9, 20, 19, 12, 1


def player(
    index: int, name: str = "", character: int = FOX, costume: int = 0, *, team: int | None = None, code: str = ""
) -> Player:
    """A player at a port."""
    return Player(
        index=index,
        port=index + 1,
        netplay_name=name,
        connect_code=code,
        character_id=character,
        character_color=costume,
        team=team,
        start_stocks=4,
        stocks=1,
    )


def game(number: int, *players: Player, winners: Sequence[int] | None = None, match: str = "") -> PlayedGame:
    """A game; without `winners` it is in progress. Games with another `match` belong to another set."""
    over = winners is not None
    return PlayedGame(
        game_id=f"{number:032x}",
        players=players,
        stage_id=31,
        is_teams=any(each.team is not None for each in players),
        match_id=match,
        arrived_at_ms=1_800_000_000_000 + number * 180_000,
        duration_seconds=120.0 if over else None,
        in_progress=not over,
        reason="game_end" if over else None,
        ending="finished" if over else None,
        winners=winners or (),
    )


class Station:
    """The games of a station, and the operator's corrections."""

    def __init__(self) -> None:
        self._games = CorrectedGames()

    def play(self, *games: PlayedGame) -> dict[str, Any]:
        """The payload after these games; newer games replace earlier ones with the same number."""
        known = {each.game_id: each for each in (*self._games.games, *games)}
        self._games.games = list(known.values())
        return self.payload

    def correct(self, **patch: object) -> dict[str, Any]:
        """The payload after a correction, given as in JSON."""
        self._games.correct(**patch)
        return self.payload

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the newest set."""
        payloads: Sequence[Mapping[str, Any]] = [msgspec.to_builtins(each) for each in self._games.payloads()]
        return dict(payloads[-1])
