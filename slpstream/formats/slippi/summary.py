"""The neutral summary of a Melee game, and the setup that it reveals: build, codes, controller fixes, region, rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, STOCK_MODE
from slpstream.formats.slippi.game_time import COUNTING_UP
from slpstream.formats.slippi.gecko import families
from slpstream.formats.slippi.names import character_name, in_game_modes, stage_name, teams
from slpstream.formats.slippi.result import GAME, INFERRED, RESOLVED, TIME
from slpstream.model.events import GameEnd
from slpstream.model.fields import camel
from slpstream.model.prepared import prepared
from slpstream.model.setup import CodeList, Kind, RevealedSetup, SetupValue
from slpstream.model.summary import Ending, GameSummary, PlayerSummary, Thing, given

_HUMAN, _CPU = 0, 1
_VERSUS, _SUDDEN_DEATH = 2, 3
"""Major and minor scene of a sudden death (observed)."""
_SUDDEN_DEATH_STOCKS, _SUDDEN_DEATH_PERCENT = 1, 300
_NO_TIMER = 0
_FIXES = {0: "off", 1: "on", 2: "Dween"}
"""Dashback and shield-drop fix; UCF is 1."""
_LANGUAGES = {0: "Japanese", 1: "English"}
_ITEMS_OFF = 255
_ITEM_RATES = ("very low", "low", "medium", "high", "very high")
_SHOWN_DIGITS = 8
_RANKED = "mode.ranked"
_MODE_SHIFT = 5
_ENDINGS: Mapping[int, Ending] = {TIME: "time", GAME: "finished", RESOLVED: "finished"}
"""By Game End method. With any other method (0 before 2.0.0, 7) a player has quit."""


class _Player(msgspec.Struct, rename="camel"):
    """Those members of `PlayerSettings` that we need. If a version lacks one, it keeps its default."""

    player_index: int
    port: int | None = None
    type: int = 0
    start_stocks: int | None = None
    stamina_mode: bool = False
    character_id: int | None = None
    character_color: int | None = None
    team_id: int | None = None
    damage_spawn: int | None = None
    dashback_fix: int | None = None
    shield_drop_fix: int | None = None
    nametag: str = ""
    display_name: str = ""
    connect_code: str = ""


class _GameInfo(msgspec.Struct, frozen=True, rename="camel"):
    damage_ratio: float | None = None


class _Match(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str = ""


@prepared
class _Settings(msgspec.Struct, rename=lambda name: "isPAL" if name == "is_pal" else camel(name)):
    """Those members of `Settings` that we need."""

    players: list[_Player]
    slp_version: str = ""
    stage_id: int | None = None
    scene: int | None = None
    game_mode: int | None = None
    in_game_mode: int = STOCK_MODE
    timer_type: int | None = None
    starting_timer_seconds: int | None = None
    is_teams: bool = False
    friendly_fire_enabled: bool | None = None
    item_spawn_behavior: int | None = None
    enabled_items: int | None = None
    is_pal: bool | None = None
    stadium_frozen: bool | None = None
    language: int | None = None
    game_info_block: _GameInfo = _GameInfo()
    match_info: _Match = _Match()

    @property
    def mode(self) -> str:
        """The mode in a word: `stock`, `stamina`, `time`, ..., or `mode 4` for one without a name."""
        if self.in_game_mode == STOCK_MODE and any(player.stamina_mode for player in self.players):
            return "stamina"
        number = self.in_game_mode >> _MODE_SHIFT
        return in_game_modes().get(number) or f"mode {number}"


class _GameEnd(msgspec.Struct, rename="camel", frozen=True):
    game_end_method: int | None = None
    lras_initiator_index: int | None = None


class _PlayerResult(msgspec.Struct, rename="camel"):
    """A winner, or the score of a player."""

    player_index: int
    score: int | None = None


@prepared
class _End(msgspec.Struct, rename="camel"):
    """Those members of `game_end` that we need."""

    game_end: _GameEnd | None = None
    winners: list[_PlayerResult] = []
    scores: list[_PlayerResult] = []
    tied: bool = False
    basis: str = ""


def describe(settings: Any, end: GameEnd | None, metadata: Mapping[str, Any] | None) -> GameSummary:
    """Summarise a game; see `slpstream.formats.interface.Describe`."""
    setup = msgspec.convert(settings, _Settings)
    ended = _End()
    if end is not None:
        values = {"gameEnd": end.game_end, "winners": end.winners, **msgspec.to_builtins(end.values)}
        ended = msgspec.convert(values, _End)
    game_end = ended.game_end or _GameEnd()
    method, quitter = game_end.game_end_method, game_end.lras_initiator_index
    ending: Ending | None = "finished" if ended.basis == INFERRED else None
    if method is not None:
        ending = _ENDINGS.get(method, "quit")
    sudden_death = _is_sudden_death(setup)
    session_id = setup.match_info.session_id
    metadata = metadata or {}
    scores = {each.player_index: each.score for each in ended.scores}
    started_at = metadata.get("startAt")
    return GameSummary(
        version=setup.slp_version,
        place=_thing("stage", setup.stage_id, stage_name),
        rules="sudden death" if sudden_death else "",
        players=[_player(setup, player, scores.get(player.player_index), metadata) for player in setup.players],
        mode="" if setup.mode == "stock" else setup.mode,
        is_teams=setup.is_teams,
        versus=True,
        match_id=session_id if session_id.startswith(_RANKED) else "",
        started_at=started_at if isinstance(started_at, str) else "",
        sudden_death=sudden_death,
        ending=ending,
        quitter=quitter if any(player.player_index == quitter for player in setup.players) else None,
        winners=[winner.player_index for winner in ended.winners],
        tied=ended.tied,
        basis=INFERRED if ended.basis == INFERRED else "",
        setup=given(settings, "stageId", "gameMode", "isTeams"),
    )


def _is_sudden_death(setup: _Settings) -> bool:
    """Whether the replay is a sudden death. The game records it separately from the game that it ends.

    Before 3.7, we don't know the scenes, so we have to look at the rules to find out (guessed).
    """
    if setup.game_mode is not None:
        return (setup.game_mode, setup.scene) == (_VERSUS, _SUDDEN_DEATH)
    rules = (_SUDDEN_DEATH_STOCKS, _SUDDEN_DEATH_PERCENT)
    return setup.timer_type == _NO_TIMER and {(p.start_stocks, p.damage_spawn) for p in setup.players} == {rules}


def _player(setup: _Settings, player: _Player, score: int | None, metadata: Mapping[str, Any]) -> PlayerSummary:
    names = _names(metadata, player.player_index)
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
        team_name=teams().get(-1 if player.team_id is None else player.team_id, "") if setup.is_teams else "",
        human=player.type != _CPU,
        start_stocks=player.start_stocks if setup.in_game_mode == STOCK_MODE else None,
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


def describe_setup(settings: Any, codes: CodeList | None, metadata: Mapping[str, Any] | None) -> RevealedSetup:
    """See `slpstream.formats.interface.DescribeSetup`."""
    game = msgspec.convert(settings, _Settings)
    if game.game_mode == MAJOR_SCENE_ONLINE:
        return RevealedSetup(incomparable="played online")
    if game.game_mode not in (None, _VERSUS):
        return RevealedSetup(incomparable="no versus game")
    platform = (metadata or {}).get("playedOn")
    language, damage_ratio = game.language, game.game_info_block.damage_ratio
    stocks = sorted({player.start_stocks for player in game.players if player.start_stocks is not None})
    machine = [
        ("version", "replay version", game.slp_version),
        ("platform", "played on", platform[:40] if isinstance(platform, str) else ""),
        ("region", "region", _either(game.is_pal, "PAL", "NTSC")),
        ("language", "language", "" if language is None else _LANGUAGES.get(language, str(language))),
        ("stadium", "Pokémon Stadium", _either(game.stadium_frozen, "frozen", "transforms")),
    ]
    rules = [
        ("mode", "mode", game.mode),
        ("timer", "timer", _timer(game.timer_type, game.starting_timer_seconds)),
        ("stocks", "stocks", " and ".join(map(str, stocks)) if game.in_game_mode == STOCK_MODE else ""),
        ("items", "items", _items(game.item_spawn_behavior, game.enabled_items)),
        ("team_attack", "team attack", _either(game.friendly_fire_enabled, "on", "off") if game.is_teams else ""),
        ("damage_ratio", "damage ratio", "" if damage_ratio is None else f"{damage_ratio:.1f}"),
    ]
    revealed = [*_values(machine), *_codes(codes), *_controllers(game), *_values(rules, "rules")]
    return RevealedSetup(values=revealed)


def _values(rows: Iterable[tuple[str, str, str]], kind: Kind = "machine") -> Iterator[SetupValue]:
    """Yield the values that are known. Each row has a name, a title, and the text by which the value is compared."""
    for name, title, text in rows:
        if text:
            yield SetupValue(name=name, title=title, value=text, text=text, kind=kind)


def _codes(codes: CodeList | None) -> Iterator[SetupValue]:
    if codes is None:
        return
    text = f"{codes.fingerprint[:_SHOWN_DIGITS]} ({codes.count} codes)"
    yield SetupValue(name="codes", title="Gecko codes", value=codes.fingerprint, text=text)
    on = {each.family: each.name for each in codes.sets}
    yield from _values((f"codes_{family}", title, on.get(family, "none")) for family, title in families().items())


def _controllers(game: _Settings) -> Iterator[SetupValue]:
    for player in game.players:
        dashback, shield_drop = player.dashback_fix, player.shield_drop_fix
        if player.type != _HUMAN or player.port is None or dashback is None or shield_drop is None:
            continue
        fixes = [_FIXES.get(number, f"unknown fix {number}") for number in (dashback, shield_drop)]
        text = fixes[0] if dashback == shield_drop else "dashback {}, shield drop {}".format(*fixes)
        yield SetupValue(name="ucf", title="UCF", value=f"{dashback}/{shield_drop}", text=text, port=player.port)


def _either(value: bool | None, if_true: str, if_false: str) -> str:
    return "" if value is None else if_true if value else if_false


def _timer(kind: int | None, seconds: int | None) -> str:
    if kind is None or seconds is None:
        return ""
    if kind == _NO_TIMER:
        return "none"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}:{rest:02}{' counting up' if kind == COUNTING_UP else ''}"


def _items(behavior: int | None, enabled: int | None) -> str:
    if behavior is None:
        return ""
    if behavior == _ITEMS_OFF or enabled == 0:
        return "off"
    rate = _ITEM_RATES[behavior] if behavior < len(_ITEM_RATES) else f"rate {behavior}"
    return rate if enabled is None else f"{rate}, {enabled.bit_count()} kinds ({enabled:x})"
