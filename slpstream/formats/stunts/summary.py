"""The neutral summary of a Stunts replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from slpstream.model.events import GameEnd
from slpstream.model.prepared import prepared
from slpstream.model.summary import GameSummary, PlayerSummary, Thing, given


class _Car(msgspec.Struct, rename="camel"):
    car: str
    transmission: str
    color: int | None = None
    car_name: str | None = None

    @property
    def text(self) -> str:
        return self.car_name or self.car


class _Opponent(_Car, rename="camel", kw_only=True):
    id: int
    name: str | None = None


class _Track(msgspec.Struct, rename="camel"):
    name: str
    horizon: int
    horizon_name: str | None = None


@prepared
class _Settings(msgspec.Struct, rename="camel"):
    """The part of `StuntsSettings` that the summary needs."""

    player: _Car
    track: _Track
    layout: str = ""
    opponent: _Opponent | None = None


def describe(settings: Any, end: GameEnd | None, metadata: Mapping[str, Any] | None) -> GameSummary:
    """Summarise a race; see `slpstream.formats.interface.Describe`. A replay does not say who won it, or when it was
    driven."""
    race = msgspec.convert(settings, _Settings)
    player, opponent, track = race.player, race.opponent, race.track
    who = f"{player.text}, {player.transmission}"
    players = [_player(0, player)]
    if opponent is not None:
        who += f" against {opponent.name or opponent.id} in {opponent.text}"
        players.append(_player(1, opponent, name=opponent.name or "", human=False))
    return GameSummary(
        version=f"{race.layout} layout",
        place=Thing(kind="track", name=track.name),
        rules=track.horizon_name or f"horizon {track.horizon}",
        players=players,
        who=who,
        setup=given(settings, "track"),
    )


def _player(index: int, car: _Car, *, name: str = "", human: bool = True) -> PlayerSummary:
    return PlayerSummary(
        index=index,
        name=name,
        character=Thing(kind="car", id=car.car, name=car.car),  # the game's own four letters, which players know
        color=car.color,
        human=human,
        setup=given({"character": car.car, "color": car.color}, "character", "color"),
    )
