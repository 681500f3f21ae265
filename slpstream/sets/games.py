"""The games that were played, and the rules. These are the input of the set logic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from slpstream.model.summary import Ending, IndexedGame, PlayerSummary, Standing

if TYPE_CHECKING:
    from slpstream.config.sections import Sets

PlayerIndex = Annotated[int, Meta(ge=0, le=3, description="Player index: the port, counted from 0.")]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Which games count and when a set is over: the section `[sets]` of the configuration."""

    best_of: int = 3
    handwarmer_seconds: float = 30.0
    handwarmer_stocks: int = 1
    max_handwarmer_seconds: float = 120.0
    max_handwarmer_percent: float = 100.0
    quit_counts: bool = True
    new_set_seconds: float = 45 * 60.0

    @classmethod
    def of(cls, section: Sets) -> Rules:
        """Return the rules that the section has."""
        values = msgspec.structs.asdict(section)
        return cls(new_set_seconds=60 * values.pop("new_set_minutes"), **values)


class Player(msgspec.Struct, frozen=True, kw_only=True):
    """A player in one game, with the stocks, percent and score at its end.

    If the replay doesn't have a name, it is empty.
    """

    index: int
    """Player index: the port, counted from 0."""
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
    """Stocks at the end, or `None` if not known (yet)."""
    percent: float | None = None
    """Percent at the end, or `None` if not known (yet)."""
    score: int | None = None
    """Score at the end of a game played for a score, or `None` for other games."""


class PlayedGame(msgspec.Struct, frozen=True, kw_only=True):
    """One game.

    The times come from three different clocks: the daemon's (`arrived_at_ms`), the console's (`said_at_ms`), and the
    one of the machine that wrote the file (`written_at_ms`). You should never compare a time from one clock with a time
    from another. All of them are Unix times in milliseconds.
    """

    game_id: str
    players: Sequence[Player]
    stage_id: int | None = None
    mode: str = ""
    """As in the summary, or empty for stock mode."""
    is_teams: bool = False
    match_id: str = ""
    """The ranked match to which the replay assigns this game, or empty for other games."""
    arrived_at_ms: int | None = None
    """When the daemon saw the first bytes arrive, or `None` if it did not."""
    said_at_ms: int | None = None
    """When the game began, according to its file."""
    written_at_ms: int = 0
    """When the file was last written to."""
    duration_seconds: float | None = None
    """`None` until the game has ended."""
    in_progress: bool = False
    reason: str | None = None
    """As in `game_end`, or `None` until the game has ended."""
    ending: Ending | None = None
    """How the game ended, or `None` if not known."""
    quitter: int | None = None
    """Player index of the player who quit, or `None` if not known."""
    winners: Sequence[int] = ()
    """Player indices."""
    tied: bool = False
    """Whether several sides share the first place."""
    inferred: bool = False
    """Whether the replay has no end and the winners are those of its last frame."""
    sudden_death: bool = False
    """Whether this is a sudden death whose game is missing."""
    sudden_deaths: Sequence[PlayedGame] = ()
    """The sudden deaths that ended the game, in order. A tied sudden death is followed by another one."""

    @property
    def ids(self) -> list[str]:
        """The ids of the game and of its sudden deaths, in the order in which they were played."""
        return [self.game_id, *(each.game_id for each in self.sudden_deaths)]

    def sides(self) -> list[list[Player]]:
        """Return the sides, ordered by their first ports.

        A side is a team or, if there are no teams, a single player.
        """
        players = sorted(self.players, key=lambda player: player.index)
        if not self.is_teams:
            return [[player] for player in players]
        teams: dict[int | None, list[Player]] = {}
        for player in players:
            teams.setdefault(player.team, []).append(player)
        return list(teams.values())


def played_games(indexed: Iterable[IndexedGame], running: Collection[str]) -> list[PlayedGame]:
    """Return the games for the set logic, in the order in which they were played, and then those that are still in
    progress.

    You don't get games with a single side, or games that aren't played for points. Pass the ids of the games in
    progress as `running`. A sudden death becomes a part of the game that it ends. If we don't have that game, then the
    sudden death takes its place.
    """
    in_order = sorted(indexed, key=lambda game: (game.listed_at_ms, game.mtime_ns or 0, game.game_id))
    games = [_played_game(game, running) for game in in_order if game.summary.versus]
    versus = sorted((game for game in games if len(game.sides()) > 1), key=lambda game: game.in_progress)
    return _with_sudden_deaths(versus)


def break_seconds(before: PlayedGame, after: PlayedGame) -> float:
    """Return how many seconds there were between two games.

    If both games have an arrival time, we use it, and otherwise the console's clock. If they don't have that either, we
    use their files. However, if a file was written after the later game arrived, then it is a copy of an older file,
    and its time doesn't mean anything.
    """
    length_ms = 1000 * (before.duration_seconds or 0.0)
    arrived_before_ms, arrived_ms = before.arrived_at_ms, after.arrived_at_ms
    if arrived_before_ms is not None and arrived_ms is not None:
        return (arrived_ms - arrived_before_ms - length_ms) / 1000
    if before.said_at_ms is not None and after.said_at_ms is not None:
        return (after.said_at_ms - before.said_at_ms - length_ms) / 1000
    if before.said_at_ms is not None and arrived_ms is not None and before.written_at_ms > arrived_ms:
        return (arrived_ms - before.said_at_ms - length_ms) / 1000
    after_ms = 1000 * (after.duration_seconds or 0.0)
    return (after.written_at_ms - after_ms - before.written_at_ms) / 1000


def clock(seconds: float) -> str:
    """Format a duration as minutes and seconds, for example `1:32`."""
    return f"{int(seconds // 60)}:{int(seconds) % 60:02d}"


def _with_sudden_deaths(games: Iterable[PlayedGame]) -> list[PlayedGame]:
    found: list[PlayedGame] = []
    for game in games:
        if game.sudden_death and found and _ends_in(found[-1], game):
            before = found[-1]
            found[-1] = msgspec.structs.replace(before, sudden_deaths=(*before.sudden_deaths, game))
        else:
            found.append(game)
    return found


def _ends_in(game: PlayedGame, sudden_death: PlayedGame) -> bool:
    """Whether a game ended in this sudden death. A sudden death is played by those players of the game who are tied."""
    last = game.sudden_deaths[-1] if game.sudden_deaths else game
    # After a timeout, the replay can still name a winner: the player with less damage.
    tied = last.ending in ("time", None) or (last.ending == "finished" and not last.winners)
    return tied and {p.index for p in sudden_death.players} <= {p.index for p in game.players}


def _played_game(indexed: IndexedGame, running: Collection[str]) -> PlayedGame:
    summary = indexed.summary
    return PlayedGame(
        game_id=indexed.game_id,
        players=[_player(player, indexed.standings.get(player.index, Standing())) for player in summary.players],
        stage_id=_number(summary.place.id),
        mode=summary.mode,
        is_teams=summary.is_teams,
        match_id=summary.match_id,
        arrived_at_ms=indexed.arrived_at_ms,
        said_at_ms=indexed.said_at_ms,
        written_at_ms=indexed.listed_at_ms if indexed.mtime_ns is None else indexed.mtime_ns // 1_000_000,
        duration_seconds=indexed.duration_seconds,
        in_progress=indexed.reason is None and indexed.game_id in running,
        reason=indexed.reason,
        ending=summary.ending,
        quitter=summary.quitter,
        winners=summary.winners,
        tied=summary.tied,
        inferred=summary.basis == "inferred",
        sudden_death=summary.sudden_death,
    )


def _player(player: PlayerSummary, standing: Standing) -> Player:
    return Player(
        index=player.index,
        port=player.index + 1 if player.port is None else player.port,
        connect_code=player.code,
        netplay_name=player.name,
        tag=player.tag,
        character_id=_number(player.character.id),
        character_color=player.color,
        team=player.team,
        human=player.human,
        start_stocks=player.start_stocks,
        stocks=standing.stocks,
        percent=standing.percent,
        score=player.score,
    )


def _number(id: Any) -> int | None:
    """Return an id if it is a number, and otherwise `None`, because `set` messages can't contain any other ids."""
    return id if isinstance(id, int) else None
