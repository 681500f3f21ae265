"""The setup that a Melee game reveals: the build and its codes, controller fixes, regions and the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE, STOCK_MODE
from slpstream.formats.slippi.gecko import families
from slpstream.formats.slippi.names import in_game_modes
from slpstream.model.fields import camel
from slpstream.model.prepared import prepared
from slpstream.model.setup import CodeList, RevealedSetup, SetupValue

_VERSUS = 2
"""Major scene of the versus mode."""
_HUMAN = 0
_FIXES = {0: "off", 1: "on", 2: "Dween"}
"""Dashback and shield-drop fix; UCF is 1."""
_NO_TIMER, _COUNTS_UP = 0, 3
_ITEMS_OFF = 255
_ITEM_RATES = ("very low", "low", "medium", "high", "very high")
_MODE_SHIFT = 5
_SHOWN_DIGITS = 8


class _Player(msgspec.Struct, rename="camel"):
    port: int | None = None
    type: int = _HUMAN
    start_stocks: int | None = None
    stamina_mode: bool = False
    dashback_fix: int | None = None
    shield_drop_fix: int | None = None


class _GameInfo(msgspec.Struct, frozen=True, rename="camel"):
    damage_ratio: float | None = None


@prepared
class _Settings(msgspec.Struct, rename=lambda name: "isPAL" if name == "is_pal" else camel(name)):
    players: list[_Player]
    slp_version: str = ""
    game_mode: int | None = None
    timer_type: int | None = None
    starting_timer_seconds: int | None = None
    in_game_mode: int = STOCK_MODE
    is_teams: bool = False
    friendly_fire_enabled: bool | None = None
    item_spawn_behavior: int | None = None
    enabled_items: int | None = None
    is_pal: bool | None = None
    stadium_frozen: bool | None = None
    language: int | None = None
    game_info_block: _GameInfo = _GameInfo()


def describe(settings: Any, codes: CodeList | None, metadata: Mapping[str, Any] | None) -> RevealedSetup:
    """See `slpstream.formats.interface.DescribeSetup`."""
    game = msgspec.convert(settings, _Settings)
    if game.game_mode == MAJOR_SCENE_ONLINE:
        return RevealedSetup(incomparable="played online")
    if game.game_mode not in (None, _VERSUS):
        return RevealedSetup(incomparable="no versus game")
    return RevealedSetup(values=[*_machine(game, metadata or {}), *_codes(codes), *_controllers(game), *_rules(game)])


def _machine(game: _Settings, metadata: Mapping[str, Any]) -> Iterator[SetupValue]:
    if game.slp_version:
        yield _value("version", "replay version", game.slp_version)
    platform = metadata.get("playedOn")
    if isinstance(platform, str) and platform:
        yield _value("platform", "played on", platform[:40])
    if game.is_pal is not None:
        yield _value("region", "region", "PAL" if game.is_pal else "NTSC")
    if game.language is not None:
        yield _value("language", "language", {0: "Japanese", 1: "English"}.get(game.language, str(game.language)))
    if game.stadium_frozen is not None:
        yield _value("stadium", "Pokémon Stadium", "frozen" if game.stadium_frozen else "transforms")


def _codes(codes: CodeList | None) -> Iterator[SetupValue]:
    if codes is None:
        return
    yield SetupValue(
        name="codes",
        title="Gecko codes",
        value=codes.fingerprint,
        text=f"{codes.fingerprint[:_SHOWN_DIGITS]} ({codes.count} codes)",
    )
    on = {each.family: each.name for each in codes.sets}
    for family, name in families().items():
        yield _value(f"codes_{family}", name, on.get(family, "none"))


def _controllers(game: _Settings) -> Iterator[SetupValue]:
    for player in game.players:
        dashback, shield_drop = player.dashback_fix, player.shield_drop_fix
        if player.type != _HUMAN or player.port is None or dashback is None or shield_drop is None:
            continue
        text = _fix(dashback)
        if dashback != shield_drop:
            text = f"dashback {_fix(dashback)}, shield drop {_fix(shield_drop)}"
        yield SetupValue(name="ucf", title="UCF", value=f"{dashback}/{shield_drop}", text=text, port=player.port)


def _fix(number: int) -> str:
    return _FIXES.get(number, f"unknown fix {number}")


def _rules(game: _Settings) -> Iterator[SetupValue]:
    mode = game.in_game_mode >> _MODE_SHIFT
    name = "stock" if game.in_game_mode == STOCK_MODE else in_game_modes().get(mode) or f"mode {mode}"
    if any(player.stamina_mode for player in game.players):
        name = "stamina"
    yield _rule("mode", "mode", name)
    if game.timer_type is not None and game.starting_timer_seconds is not None:
        yield _rule("timer", "timer", _timer(game.timer_type, game.starting_timer_seconds))
    stocks = sorted({player.start_stocks for player in game.players if player.start_stocks is not None})
    if game.in_game_mode == STOCK_MODE and stocks:
        yield _rule("stocks", "stocks", " and ".join(map(str, stocks)))
    if game.item_spawn_behavior is not None:
        yield _rule("items", "items", _items(game.item_spawn_behavior, game.enabled_items))
    if game.is_teams and game.friendly_fire_enabled is not None:
        yield _rule("team_attack", "team attack", "on" if game.friendly_fire_enabled else "off")
    if game.game_info_block.damage_ratio is not None:
        yield _rule("damage_ratio", "damage ratio", f"{game.game_info_block.damage_ratio:.1f}")


def _timer(kind: int, seconds: int) -> str:
    if kind == _NO_TIMER:
        return "none"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}:{rest:02}{' counting up' if kind == _COUNTS_UP else ''}"


def _items(behavior: int, enabled: int | None) -> str:
    if behavior == _ITEMS_OFF or enabled == 0:
        return "off"
    rate = _ITEM_RATES[behavior] if behavior < len(_ITEM_RATES) else f"rate {behavior}"
    return rate if enabled is None else f"{rate}, {enabled.bit_count()} kinds ({enabled:x})"


def _value(name: str, title: str, text: str) -> SetupValue:
    """Return a value of the machine. To compare it, we use its text."""
    return SetupValue(name=name, title=title, value=text, text=text)


def _rule(name: str, title: str, text: str) -> SetupValue:
    return SetupValue(name=name, title=title, value=text, text=text, kind="rules")
