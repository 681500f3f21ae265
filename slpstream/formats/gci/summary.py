"""The neutral summary of an F-Zero GX replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from slpstream.model.events import GameEnd
from slpstream.model.prepared import prepared
from slpstream.model.summary import GameSummary, PlayerSummary, Thing, given


class _Named(msgspec.Struct):
    id: int
    name: str | None = None


class _Racer(msgspec.Struct):
    index: int
    human: bool
    machine: _Named
    color: int | None = None


@prepared
class _Settings(msgspec.Struct, rename="camel"):
    """The part of `Settings` that the summary needs."""

    course: _Named
    mode: int
    laps: int
    racers: list[_Racer]
    game_code: str = ""
    mode_name: str | None = None
    saved_at: str = ""


def describe(settings: Any, end: GameEnd | None, metadata: Mapping[str, Any] | None) -> GameSummary:
    """Summarise a race; see `slpstream.formats.interface.Describe`. A replay does not say who won it."""
    race = msgspec.convert(settings, _Settings)
    players = [
        PlayerSummary(
            index=racer.index,
            character=_thing("machine", racer.machine),
            color=racer.color,
            human=racer.human,
            setup={"character": shown["machine"], **given(shown, "color", "human")},
        )
        for racer, shown in zip(race.racers, settings["racers"], strict=True)
    ]
    driven = [player.character.text for player in players if player.human]
    others = len(players) - len(driven)
    return GameSummary(
        version=race.game_code,
        place=_thing("course", race.course),
        rules=f"{race.mode_name or f'mode {race.mode}'}, {race.laps} laps",
        players=players,
        who=", ".join(driven) + (f" against {others}" if others else ""),
        started_at=race.saved_at,  # the game saves right after the race; it does not say when that began
        setup=given(settings, "course", "mode", "laps", "difficulty"),
    )


def _thing(kind: str, named: _Named) -> Thing:
    return Thing(kind=kind, id=named.id, name=named.name or "")
