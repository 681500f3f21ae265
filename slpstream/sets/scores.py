"""The payload of `set` messages and of `/v1/stations/{id}/set`.

If the state is the same, you always get the same payload, byte for byte. To make this possible, it doesn't contain any
times, and it doesn't depend on payloads that were sent before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import repeat
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.model.prepared import prepared
from slpstream.sets.corrections import NOTHING, Corrections
from slpstream.sets.crew_turns import Turn
from slpstream.sets.crews import CrewBattle
from slpstream.sets.games import PlayedGame, Player, PlayerIndex
from slpstream.sets.grouping import Member, Set, SetGame, Side
from slpstream.sets.matching import folded
from slpstream.sets.verdicts import Verdict

MAX_GAMES = 20
"""Maximum number of games in the payload, so that an endless set does not grow without bound. For a longer best-of, the
maximum is twice the number of games that can count."""

SideNumber = Annotated[int, Meta(ge=0, description="Place in `sides`.")]


class _Payload(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """Base class: names are camelCase, and unknown values are omitted."""


class SetPlayer(_Payload, kw_only=True, frozen=True):
    """A player of a set, as in its newest game."""

    player_index: PlayerIndex
    port: int
    side: SideNumber
    score: Annotated[int, Meta(description="Games won by the player's side.")]
    name: Annotated[
        str | None,
        Meta(
            description="The operator's name, or else that of the seat, netplay name or tag; left out if none is known."
        ),
    ] = None
    named_by_operator: bool = False
    seat_name: Annotated[
        str | None, Meta(description="The name with which the seat was claimed; left out if it was not.")
    ] = None
    connect_code: str | None = None
    netplay_name: str | None = None
    tag: Annotated[str | None, Meta(description="In-game name tag.")] = None
    character_id: int | None = None
    character_color: int | None = None
    team: Annotated[int | None, Meta(description="0 red, 1 blue, 2 green; left out without teams.")] = None
    sponsor: Annotated[
        str | None,
        Meta(
            description="The sponsor or team of the player, from the operator or the seat. `name` does not contain it."
        ),
    ] = None
    pronouns: Annotated[str | None, Meta(description="From the operator or the seat.")] = None
    seed: Annotated[int | None, Meta(description="The operator's: seed in the event, from 1.")] = None


class SetSide(_Payload, kw_only=True, frozen=True):
    """One side of a set: a player or a team."""

    name: Annotated[str | None, Meta(description="The names of its players, when all have one.")] = None
    score: Annotated[int, Meta(description="`won` plus `added`, never below 0. In a crew battle: stocks left.")]
    won: Annotated[int, Meta(description="Games won that count; in a crew battle the stocks that the games have left.")]
    added: Annotated[int, Meta(description="Points added by the operator.")] = 0
    players: Annotated[list[PlayerIndex], Meta(description="Player indices.")]


class GamePlayer(_Payload, kw_only=True, frozen=True):
    """A player in one game of a set."""

    player_index: PlayerIndex
    port: int
    side: SideNumber
    character_id: int | None = None
    character_color: int | None = None
    stocks: Annotated[int | None, Meta(description="Stocks at the end.")] = None
    percent: Annotated[float | None, Meta(description="Percent at the end.")] = None
    score: Annotated[int | None, Meta(description="Score at the end, in time mode.")] = None
    name: Annotated[str | None, Meta(description="Only in a crew battle: the player whose turn it was.")] = None
    entered_stocks: Annotated[
        int | None, Meta(description="Only in a crew battle: stocks that the player came with.")
    ] = None
    kept_stocks: Annotated[
        int | None, Meta(description="Only in a crew battle: stocks that the player left with, if the game counts.")
    ] = None


class OperatorDecision(_Payload, kw_only=True, frozen=True):
    """The operator's decision about a game."""

    counts: bool | None = None
    winner: Annotated[int | None, Meta(description="Player index in this game.")] = None
    begins_set: bool | None = None
    sides: Annotated[
        dict[str, SideNumber] | None, Meta(description="The side in the set of each player, by player index.")
    ] = None
    stocks: Annotated[
        dict[str, int], Meta(description="In a crew battle: the stocks that players left with, by player index.")
    ] = {}


class ScoredSuddenDeath(_Payload, kw_only=True, frozen=True):
    """A sudden death that ended a game of a set."""

    game_id: Annotated[str, Meta(description="Id of its own replay.")]
    duration_seconds: float | None = None


class ScoredGame(_Payload, kw_only=True, frozen=True):
    """One game of a set."""

    game_id: str
    stage_id: int | None = None
    mode: Annotated[str, Meta(description="`time`, `coin`, `bonus`, `stamina`; left out for stock mode.")] = ""
    duration_seconds: float | None = None
    verdict: Verdict
    counts: Annotated[bool, Meta(description="Whether it is a point for `winner`.")]
    reason: Annotated[str, Meta(description="Why it counts or does not, for people.")]
    winner: Annotated[SideNumber | None, Meta(description="The side that won it, also when it does not count.")] = None
    score: Annotated[list[int], Meta(description="The scores of all sides after it.")]
    players: list[GamePlayer]
    operator: OperatorDecision | None = None
    sudden_deaths: Annotated[
        list[ScoredSuddenDeath],
        Meta(description="The sudden deaths that ended it, in order; the last one decides. They are no games."),
    ] = []


@prepared
class SetScore(_Payload, kw_only=True, frozen=True):
    """The current, latest or next set of a station."""

    set_id: Annotated[str | None, Meta(description="Id of its first game; left out before that.")] = None
    game_id: Annotated[
        str | None, Meta(description="Its newest game or sudden death: player indices are those of this game.")
    ] = None
    state: Annotated[Literal["upcoming", "running", "over"], Meta(description="`upcoming`: no game has begun.")]
    best_of: Annotated[
        int, Meta(description="Length of the set in games; of a crew battle the longest that it can be.")
    ]
    wins_needed: Annotated[int, Meta(description="Wins that decide the set; 0 in a crew battle, which stocks decide.")]
    players: Annotated[list[SetPlayer], Meta(description="In the order of `sides`.")]
    score: Annotated[
        list[int], Meta(description="Games won, in the order of `players`; in a crew battle the stocks of their crews.")
    ]
    crew_battle: Annotated[
        CrewBattle | None, Meta(description="The crews, if the set is a crew battle. `players` has those who play now.")
    ] = None
    sides: list[SetSide]
    winner: Annotated[
        SideNumber | None, Meta(description="The side that won; left out while the set is not over, and for a tie.")
    ] = None
    games: Annotated[
        list[ScoredGame],
        Meta(
            description=f"In order, the newest {MAX_GAMES}; in a set of more than {MAX_GAMES // 2} games twice as many."
        ),
    ]
    older_games: Annotated[int, Meta(description="Games of the set that are not in `games`.")] = 0
    round: Annotated[str | None, Meta(description="Round of the set, as the operator calls it.")] = None
    event: Annotated[str | None, Meta(description="Event, as the operator calls it.")] = None
    casters: Annotated[list[str], Meta(description="Commentators, as the operator names them.")] = []
    swapped: Annotated[
        bool, Meta(description="Show the second of two sides on the left. The order of `sides` itself stays.")
    ] = False
    last_change: Annotated[
        int, Meta(description="Id of the newest change by an operator on this station; left out if there is none.")
    ] = 0


def score_of(found: Set, corrections: Corrections, last_change: int = 0, *, max_games: int = MAX_GAMES) -> SetScore:
    """Return the payload for a set. `last_change` is the id of the newest change by an operator, or 0 if there is none.

    You get at most `max_games` games in it, or twice the number of games that can count if this is more.
    """
    last = found.last
    best_of = found.best_of if found.crew_battle is None else found.crew_battle.max_games
    shown = max(max_games, 2 * best_of)
    players = [_player(member, place, side) for place, side in enumerate(found.sides) for member in side.members]
    return SetScore(
        set_id=found.games[0].game_id if found.entries else None,
        game_id=None if last is None else last.ids[-1],
        state="upcoming" if last is None else "over" if found.over else "running",
        best_of=best_of,
        wins_needed=found.wins_needed,
        players=players,
        score=[player.score for player in players],
        crew_battle=found.crew_battle,
        sides=[_side(side, _crew_name(found, place)) for place, side in enumerate(found.sides)],
        winner=found.winner,
        games=[_game(entry, corrections) for entry in found.entries[-shown:]],
        older_games=max(0, len(found.entries) - shown),
        round=found.round,
        event=corrections.event,
        casters=list(corrections.casters),
        swapped=found.swapped,
        last_change=last_change,
    )


def _player(member: Member, place: int, side: Side) -> SetPlayer:
    seat = member.seat
    if seat is not None and member.name and folded(member.name) != folded(seat.name):
        seat = None  # the operator entered another person's name there
    return SetPlayer(
        player_index=member.index,
        port=member.port,
        side=place,
        score=side.score,
        name=member.shown_name,
        named_by_operator=bool(member.name),
        seat_name=None if member.seat is None else member.seat.name,
        connect_code=member.connect_code or None,
        netplay_name=member.netplay_name or None,
        tag=member.tag or None,
        character_id=member.character_id,
        character_color=member.character_color,
        team=member.team,
        sponsor=member.details.sponsor or (seat.sponsor if seat else None),
        pronouns=member.details.pronouns or (seat.pronouns if seat else None),
        seed=member.details.seed,
    )


def _crew_name(found: Set, place: int) -> str:
    return "" if found.crew_battle is None else found.crew_battle.crews[place].name


def _side(side: Side, crew_name: str) -> SetSide:
    names = [name for member in side.members if (name := member.shown_name) is not None]
    return SetSide(
        name=crew_name or (" & ".join(names) if len(names) == len(side.members) else None),
        score=side.score,
        won=side.won,
        added=side.added,
        players=[member.index for member in side.members],
    )


def _game(entry: SetGame, corrections: Corrections) -> ScoredGame:
    game = entry.game
    correction = corrections.games.get(game.game_id, NOTHING)
    decision = OperatorDecision(
        counts=correction.counts,
        winner=correction.winner,
        begins_set=correction.begins_set,
        sides=None if correction.sides is None else _sides_of_players(game, correction.sides),
        stocks={str(index): stocks for index, stocks in correction.stocks.items()},
    )
    return ScoredGame(
        game_id=game.game_id,
        stage_id=game.stage_id,
        mode=game.mode,
        duration_seconds=game.duration_seconds,
        verdict=entry.judgement.verdict,
        counts=entry.judgement.counts,
        reason=entry.judgement.reason,
        winner=entry.winner,
        score=list(entry.score),
        players=[
            _game_player(player, place, turn)
            for team, place, turn in zip(game.sides(), entry.places, entry.turns or repeat(None), strict=False)
            for player in team
        ],
        operator=None if correction == NOTHING else decision,
        sudden_deaths=[
            ScoredSuddenDeath(game_id=each.game_id, duration_seconds=each.duration_seconds)
            for each in game.sudden_deaths
        ],
    )


def _sides_of_players(game: PlayedGame, sides: Sequence[int]) -> dict[str, int]:
    # The number of sides is different: the game was read again and is not the corrected one.
    return {str(player.index): place for team, place in zip(game.sides(), sides, strict=False) for player in team}


def _game_player(player: Player, side: int, turn: Turn | None) -> GamePlayer:
    return GamePlayer(
        player_index=player.index,
        port=player.port,
        side=side,
        character_id=player.character_id,
        character_color=player.character_color,
        stocks=player.stocks,
        percent=player.percent if player.percent is None or math.isfinite(player.percent) else None,
        score=player.score,
        name=None if turn is None else turn.name or None,
        entered_stocks=None if turn is None else turn.entered,
        kept_stocks=None if turn is None else turn.left,
    )
