"""Turn the payload of a `set` message into something that brackets understand. This module doesn't do any I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from slpstream.parts.bracket.reported_games import ReportedGame, reported_games


class PlayedPlayer(msgspec.Struct, frozen=True, kw_only=True):
    """A player in a set. If we don't know a name, it is empty."""

    name: str = ""
    """The shown name."""
    named_by_operator: bool = False
    sponsor: str = ""
    connect_code: str = ""


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A set with two sides. Their numbers are in the order of the set."""

    over: bool
    winner: int | None = None
    """The side that has won, or `None` while the set is being played, and for a tie."""
    score: tuple[int, int]
    best_of: int
    games: tuple[ReportedGame, ...] | None = None
    """The games that count. `None` if they do not add up to the score: an operator changed it, the payload lacks games,
    or it is a crew battle."""
    older_games: int = 0
    """Number of older games that the payload lacks."""
    players: tuple[tuple[PlayedPlayer, ...], tuple[PlayedPlayer, ...]] = ((), ())
    """The players of each side; in a crew battle, the current ones."""
    crews: tuple[str, str] | None = None
    """The names of the crews, whose score is the number of stocks left, or `None` if it is not a crew battle."""

    @property
    def is_crew(self) -> bool:
        """Whether it is a crew battle."""
        return self.crews is not None

    @property
    def who(self) -> object:
        """Identifies the players. During a crew battle, this stays the same."""
        return self.players if self.crews is None else self.crews

    @property
    def names(self) -> tuple[str, str]:
        """What people call each of the two sides."""
        if self.crews is not None:
            return self.crews[0] or "?", self.crews[1] or "?"
        return _joined(self.players[0]), _joined(self.players[1])

    @property
    def leader(self) -> int | None:
        """The side that has won more games, or `None` if it is a tie."""
        first, second = self.score
        return None if first == second else int(second > first)


def played_set(payload: Mapping[str, Any]) -> Played | None:
    """Return the set in the given payload, or `None` if it doesn't have two sides."""
    sides: Sequence[Mapping[str, Any]] = payload.get("sides") or []
    if len(sides) != 2:
        return None
    winner = payload.get("winner")
    players = [player for player in payload.get("players") or () if player.get("side") in (0, 1)]
    is_crew = bool(payload.get("crewBattle"))
    first, second = (tuple(_player(player) for player in players if player["side"] == side) for side in (0, 1))
    return Played(
        over=payload.get("state") == "over",
        winner=winner if winner in (0, 1) else None,
        score=(sides[0].get("score") or 0, sides[1].get("score") or 0),
        best_of=payload.get("bestOf") or 0,
        games=None if is_crew else reported_games(payload),
        older_games=payload.get("olderGames") or 0,
        players=(first, second),
        crews=(sides[0].get("name") or "", sides[1].get("name") or "") if is_crew else None,
    )


def _joined(side: Sequence[PlayedPlayer]) -> str:
    return " & ".join(player.name or "?" for player in side) or "?"


def _player(player: Mapping[str, Any]) -> PlayedPlayer:
    return PlayedPlayer(
        name=player.get("name") or "",
        named_by_operator=bool(player.get("namedByOperator")),
        sponsor=player.get("sponsor") or "",
        connect_code=player.get("connectCode") or "",
    )
