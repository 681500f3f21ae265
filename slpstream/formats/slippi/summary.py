"""The neutral summary of a Melee game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from slpstream.formats.slippi.game_start import STOCK_MODE
from slpstream.formats.slippi.names import character_name, in_game_modes, stage_name, teams
from slpstream.formats.slippi.result import GAME, INFERRED, RESOLVED, TIME
from slpstream.model.events import GameEnd
from slpstream.model.prepared import prepared
from slpstream.model.summary import Ending, GameSummary, PlayerSummary, Thing, given

_CPU = 1
_VERSUS, _SUDDEN_DEATH = 2, 3
"""Major and minor scene of a sudden death (observed)."""
_SUDDEN_DEATH_STOCKS, _SUDDEN_DEATH_PERCENT = 1, 300
_NO_TIMER = 0
_RANKED = "mode.ranked"
_MODE_SHIFT = 5
_ENDINGS: Mapping[int, Ending] = {TIME: "time", GAME: "finished", RESOLVED: "finished"}
"""By Game End method. With any other method (0 before 2.0.0, 7) a player has quit."""


class _Player(msgspec.Struct, rename="camel"):
    """Those parts of `PlayerSettings` that we need for the summary.

    If a version lacks a field, it keeps its default.
    """

    player_index: int
    port: int | None = None
    type: int = 0
    start_stocks: int | None = None
    stamina_mode: bool = False
    character_id: int | None = None
    character_color: int | None = None
    team_id: int | None = None
    damage_spawn: int | None = None
    nametag: str = ""
    display_name: str = ""
    connect_code: str = ""


class _Match(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str = ""


@prepared
class _Settings(msgspec.Struct, rename="camel"):
    """The part of `Settings` that the summary needs."""

    players: list[_Player]
    slp_version: str = ""
    stage_id: int | None = None
    scene: int | None = None
    game_mode: int | None = None
    in_game_mode: int = STOCK_MODE
    timer_type: int | None = None
    is_teams: bool = False
    match_info: _Match = _Match()


@prepared
class _Winner(msgspec.Struct, rename="camel"):
    player_index: int


@prepared
class _GameEnd(msgspec.Struct, rename="camel"):
    game_end_method: int | None = None
    lras_initiator_index: int | None = None


class _Score(msgspec.Struct, rename="camel"):
    player_index: int
    score: int | None = None


@prepared
class _EndValues(msgspec.Struct):
    """Those members of `game_end` that only games without stocks have."""

    scores: list[_Score] = []
    tied: bool = False


def describe(settings: Any, end: GameEnd | None, metadata: Mapping[str, Any] | None) -> GameSummary:
    """Summarise a game; see `slpstream.formats.interface.Describe`."""
    setup = msgspec.convert(settings, _Settings)
    game_end = _GameEnd()
    winners: list[_Winner] = []
    values = _EndValues()
    if end is not None:
        values = msgspec.convert(msgspec.to_builtins(end.values), _EndValues)
        game_end = msgspec.convert(end.game_end or {}, _GameEnd)
        winners = msgspec.convert(end.winners, list[_Winner])
    method, quitter = game_end.game_end_method, game_end.lras_initiator_index
    inferred = end is not None and end.values.get("basis") == INFERRED
    ending: Ending | None = "finished" if inferred else None
    if method is not None:
        ending = _ENDINGS.get(method, "quit")
    sudden_death = _is_sudden_death(setup)
    session_id = setup.match_info.session_id
    metadata = metadata or {}
    scores = {each.player_index: each.score for each in values.scores}
    started_at = metadata.get("startAt")
    return GameSummary(
        version=setup.slp_version,
        place=_thing("stage", setup.stage_id, stage_name),
        rules="sudden death" if sudden_death else "",
        players=[
            _player(
                player,
                is_teams=setup.is_teams,
                takes_stocks=setup.in_game_mode == STOCK_MODE,
                score=scores.get(player.player_index),
                names=_names(metadata, player.player_index),
            )
            for player in setup.players
        ],
        mode=_mode(setup),
        is_teams=setup.is_teams,
        versus=True,
        match_id=session_id if session_id.startswith(_RANKED) else "",
        started_at=started_at if isinstance(started_at, str) else "",
        sudden_death=sudden_death,
        ending=ending,
        quitter=quitter if any(player.player_index == quitter for player in setup.players) else None,
        winners=[winner.player_index for winner in winners],
        tied=values.tied,
        basis=INFERRED if inferred else "",
        setup=given(settings, "stageId", "gameMode", "isTeams"),
    )


def _mode(setup: _Settings) -> str:
    """Return the mode in a word. For stock mode, this is empty."""
    if setup.in_game_mode == STOCK_MODE:
        return "stamina" if any(player.stamina_mode for player in setup.players) else ""
    number = setup.in_game_mode >> _MODE_SHIFT
    return in_game_modes().get(number) or f"mode {number}"


def _is_sudden_death(setup: _Settings) -> bool:
    """Whether the replay is a sudden death. The game records it separately from the game that it ends.

    Before 3.7, we don't know the scenes, so we have to look at the rules to find out (guessed).
    """
    if setup.game_mode is not None:
        return (setup.game_mode, setup.scene) == (_VERSUS, _SUDDEN_DEATH)
    rules = (_SUDDEN_DEATH_STOCKS, _SUDDEN_DEATH_PERCENT)
    return setup.timer_type == _NO_TIMER and {(p.start_stocks, p.damage_spawn) for p in setup.players} == {rules}


def _player(
    player: _Player, *, is_teams: bool, takes_stocks: bool, score: int | None, names: Mapping[str, str]
) -> PlayerSummary:
    name = player.display_name
    if not name and not player.nametag:  # the metadata has the names of netplay games from before 3.9.0
        name = names.get("netplay", "")
    values = {"character": player.character_id, "color": player.character_color, "team": player.team_id}
    return PlayerSummary(
        index=player.player_index,
        port=player.port,
        name=name,
        tag=player.nametag,
        code=player.connect_code or names.get("code", ""),
        character=_thing("character", player.character_id, character_name),
        color=player.character_color,
        team=player.team_id,
        team_name=teams().get(-1 if player.team_id is None else player.team_id, "") if is_teams else "",
        human=player.type != _CPU,
        start_stocks=player.start_stocks if takes_stocks else None,
        score=score,
        setup=given(values, *values),
    )


def _thing(kind: str, id: int | None, name_of: Any) -> Thing:
    return Thing(kind=kind, id=id, name=("" if id is None else name_of(id)) or "")


def _names(metadata: Mapping[str, Any], index: int) -> Mapping[str, str]:
    """Return the names of a player that are in the metadata. These can be `netplay` and `code`."""
    entry: Any = metadata
    for key in ("players", str(index), "names"):
        entry = entry.get(key) if isinstance(entry, dict) else None
    return {key: name for key, name in entry.items() if isinstance(name, str)} if isinstance(entry, dict) else {}
