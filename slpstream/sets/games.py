"""What sets are made of: a game as it was played, and the rules."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Which games count, and when a set is over: `[sets]` of the configuration."""

    best_of: int = 3
    handwarmer_seconds: float = 30.0
    handwarmer_stocks: int = 1
    quit_counts: bool = True
    new_set_seconds: float = 45 * 60.0


class Player(msgspec.Struct, frozen=True, kw_only=True):
    """Who played, and what was left at the end. Names that the replay does not have are empty."""

    index: int
    """The port, counted from 0."""
    port: int
    connect_code: str = ""
    netplay_name: str = ""
    tag: str = ""
    character_id: int | None = None
    character_color: int | None = None
    team: int | None = None
    human: bool = True
    start_stocks: int | None = None
    stocks: int | None = None
    """At the end; `None` while it is not known."""
    percent: float | None = None


class PlayedGame(msgspec.Struct, frozen=True, kw_only=True):
    """One game. Two clocks tell when it was: that of the console, in its file, and that of the machine that wrote the
    file; they are never held against each other. Unix times in milliseconds."""

    game_id: str
    players: Sequence[Player]
    stage_id: int | None = None
    is_teams: bool = False
    match_id: str = ""
    """Of games that the game itself plays as one set (ranked); empty for others."""
    said_at_ms: int | None = None
    """When it began, as its file says."""
    written_at_ms: int = 0
    """When its file was written last."""
    duration_seconds: float | None = None
    """`None` while it has no end."""
    in_progress: bool = False
    reason: str | None = None
    """As in `game_end`; `None` while it has no end."""
    end_method: int | None = None
    """As in Game End; `None` when the replay has none."""
    quitter: int | None = None
    """Player index of who quit, where the replay says it."""
    winners: Sequence[int] = ()
    """Player indices, as `game_end` has them."""

    def sides(self) -> list[list[Player]]:
        """Who plays together: the teams, or each player alone; in the order of their first ports."""
        players = sorted(self.players, key=lambda player: player.index)
        if not self.is_teams:
            return [[player] for player in players]
        teams: dict[int | None, list[Player]] = {}
        for player in players:
            teams.setdefault(player.team, []).append(player)
        return list(teams.values())


def break_seconds(before: PlayedGame, after: PlayedGame) -> float:
    """How long nobody played between two games; by the console's clock where both games have it."""
    length_ms = 1000 * (before.duration_seconds or 0.0)
    if before.said_at_ms is not None and after.said_at_ms is not None:
        return (after.said_at_ms - before.said_at_ms - length_ms) / 1000
    after_ms = 1000 * (after.duration_seconds or 0.0)
    return (after.written_at_ms - after_ms - before.written_at_ms) / 1000


def clock(seconds: float) -> str:
    """A length of time as people write it: `1:32`."""
    return f"{int(seconds // 60)}:{int(seconds) % 60:02d}"
