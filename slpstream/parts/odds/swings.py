"""The swing of the odds by each conversion of a finished game, for tables. This needs numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import UNSET

from slpstream.parts.odds.game_odds import GameOdds, Post, conditions_of
from slpstream.parts.odds.model import packaged_model
from slpstream.parts.odds.turning_points import Conversion, swing_of

if TYPE_CHECKING:
    from slpstream.formats.slippi.columns import Frames
    from slpstream.formats.slippi.stats.schema import Conversion as FoundConversion


class _Game(Protocol):
    @property
    def settings(self) -> Any: ...
    @property
    def frames(self) -> Frames: ...


def conversion_swings(game: _Game, conversions: Sequence[FoundConversion]) -> list[float | None]:
    """Return how much likelier the attacker was to win after each of the conversions of a Slippi game.

    It is `None` for a conversion that has no odds before or after it.
    """
    setup = conditions_of(game.settings)
    players = {player.player_index for player in setup.players}
    if setup.without_odds or not players <= game.frames.players.keys():
        return [None] * len(conversions)
    odds = GameOdds(packaged_model(), setup)
    points = [odds.take(number, posts) for number, posts in _frames(game.frames, odds.players)]
    pairs = [(point.frame, point.odds) for point in points if point is not None]
    swings: list[float | None] = []
    for each in conversions:
        end = each.end_frame
        found = None
        if end is not UNSET and end is not None and each.player_index in odds.players:
            conversion = Conversion(each.player_index, each.start_frame, end)
            found = swing_of(odds.players, pairs, each.player_index, conversion, 0.0)
        swings.append(None if found is None else found.swing)
    return swings


def _frames(frames: Frames, players: Sequence[int]) -> Iterator[tuple[int, dict[int, Post]]]:
    """Yield the values of both players in each frame."""
    one, two = (frames.players[index].post for index in players)
    present = np.flatnonzero(one.present & two.present)
    columns = [post.alone(name)[present].tolist() for post in (one, two) for name in ("percent", "stocks_remaining")]
    first, second = players
    for number, *values in zip(frames.number[present].tolist(), *columns, strict=True):
        yield number, {first: Post(values[0], values[1]), second: Post(values[2], values[3])}
