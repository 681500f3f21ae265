"""Rules, which tell OBS how it should react if something happens at a station.

A rule belongs to one station, to any station (`*`), or to the station on air. Some of its actions are lasting (scene,
preview, sources, texts) and describe how OBS should look from then on. Others are momentary (replay buffer, recording,
chapter) and only make sense at that very moment. This module doesn't do any I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from slpstream.game.station_state import station_state
from slpstream.model.summary import GameSummary
from slpstream.stream.channel import Channel

Occasion = Literal["game_start", "game_end", "set_end", "station_idle", "event", "situation"]


class Actions(msgspec.Struct, frozen=True):
    """The actions of a rule. If a value is empty, there's nothing to do."""

    scene: str = ""
    preview: str = ""
    in_scene: str = ""
    """The scene of `show` and `hide`."""
    show: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    text: Mapping[str, str] = {}
    """By name of the source, with placeholders."""
    save_replay: bool = False
    recording: Literal["", "start", "stop"] = ""
    chapter: str = ""
    """Name of the chapter, with placeholders."""


class Rule(msgspec.Struct, frozen=True):
    """One rule."""

    on: Occasion
    station: str
    actions: Actions
    event: str = ""
    situation: str = ""
    """For `situation`: its name, or empty for any."""
    min_damage: float = 0.0
    kill: bool = False
    after_seconds: float = 0.0
    """For `station_idle`: how long the station must have been without a game."""

    def matches_event(self, event: Mapping[str, Any]) -> bool:
        """Whether the rule applies to an `event` message with this payload."""
        if self.on != "event" or event.get("kind") != self.event:
            return False
        punish = event.get("conversion") or event.get("combo") or {}
        return damage_of(event) >= self.min_damage and (not self.kill or punish.get("didKill") is True)


def damage_of(event: Mapping[str, Any]) -> float:
    """Return how much damage a conversion or combo has done. For any other event, this is 0."""
    punish = event.get("conversion") or event.get("combo") or {}
    end = punish.get("endPercent")
    end = punish.get("currentPercent") if end is None else end
    start = punish.get("startPercent")
    return 0.0 if end is None or start is None else float(end) - float(start)


def placeholders(channel: Channel, event: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the values that you can use in texts. They describe a station as it is now."""
    played = channel.set_message() or {}
    state = station_state(channel, played)
    game = channel.current
    values = {
        "station": channel.station,
        "stage": state["stage"],
        "best_of": state["bestOf"],
        "round": played.get("round"),
        "event": played.get("event"),
        "winner": _winner(game.summary if game is not None else GameSummary(), state["players"]),
        "set_winner": _set_winner(played),
        "damage": "" if event is None else round(damage_of(event)),
    }
    for slot in range(1, 5):
        player = state["players"][slot - 1] if len(state["players"]) >= slot else {}
        values |= {f"{name}{slot}": player.get(name) for name in ("player", "code", "character", "score", "stocks")}
    return {name: "" if value is None else str(value) for name, value in values.items()}


def _winner(summary: GameSummary, players: Sequence[Mapping[str, Any]]) -> str:
    ports = [p.index + 1 if p.port is None else p.port for p in summary.players if p.index in summary.winners]
    return " & ".join(player["player"] for player in players if player["port"] in ports)


def _set_winner(played: Mapping[str, Any]) -> str | None:
    winner, sides = played.get("winner"), played.get("sides") or ()
    return sides[winner].get("name") if isinstance(winner, int) and winner < len(sides) else None
