"""The turning points of a game: the largest swings of the odds, with the conversion or the stock that caused each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.model.prepared import prepared

MAX_TURNING_POINTS = 5
_MIN_SWING = 0.01
_DIGITS = 4
Pair = tuple[int, float]
"""A frame, and the chance of the first player in it."""


class _Move(msgspec.Struct):
    damage: float | None = None


@prepared
class Conversion(msgspec.Struct, rename="camel"):
    """The part of a conversion that turning points need. `player_index` is the player who was hit."""

    player_index: int
    start_frame: int
    end_frame: int
    did_kill: bool = False
    moves: list[_Move] = []


class TurningPoint(msgspec.Struct, rename="camel", frozen=True):
    """One swing of the odds."""

    of: Annotated[
        Literal["conversion", "stock"], Meta(description="A conversion, or a stock that was lost without one.")
    ]
    player_index: Annotated[int, Meta(description="The player who gained.")]
    opponent_index: Annotated[int, Meta(description="The player who was hit or lost the stock.")]
    start_frame: int
    end_frame: int
    before: Annotated[float, Meta(description="The chance of the player who gained, just before it.")]
    after: Annotated[float, Meta(description="The same after it.")]
    did_kill: Annotated[bool, Meta(description="Whether a stock was lost.")]
    damage: Annotated[float, Meta(description="Damage of all moves, in percent.")]
    moves: Annotated[int, Meta(description="Number of moves.")]

    @property
    def swing(self) -> float:
        """How much the player gained, from 0 to 1."""
        return round(self.after - self.before, _DIGITS)


def turning_points(
    players: Sequence[int],
    odds: Sequence[Pair],
    conversions: Iterable[Conversion],
    stocks: Iterable[tuple[int, int]],
) -> list[TurningPoint]:
    """Return the largest swings, beginning with the largest.

    `odds` are in the order of their frames, for the first of the two `players`. Each of the `stocks` is the frame of a
    loss and the index of the player who lost it.
    """
    found = []
    killed = set()
    for conversion in conversions:
        victim = conversion.player_index
        if victim not in players:
            continue
        if conversion.did_kill:
            killed.add((conversion.end_frame, victim))
        damage = sum(move.damage or 0 for move in conversion.moves)
        found.append(swing_of(players, odds, victim, conversion, round(damage, 1)))
    for frame, victim in stocks:
        if victim in players and (frame, victim) not in killed:
            found.append(swing_of(players, odds, victim, Conversion(victim, frame, frame, did_kill=True), None))
    large = [point for point in found if point is not None and point.swing >= _MIN_SWING]
    return sorted(large, key=lambda point: (-point.swing, point.start_frame))[:MAX_TURNING_POINTS]


def swing_of(
    players: Sequence[int], odds: Sequence[Pair], victim: int, conversion: Conversion, damage: float | None
) -> TurningPoint | None:
    """Return the turning point for a conversion, or `None` if there are no odds before or after it.

    A stock that was lost without a conversion has no `damage`.
    """
    frames = [frame for frame, _ in odds]
    start = bisect_left(frames, conversion.start_frame) - 1
    end = bisect_left(frames, conversion.end_frame)
    if start < 0 or end >= len(odds):
        return None
    [winner] = [player for player in players if player != victim]
    before, after = (odds[i][1] if winner == players[0] else round(1 - odds[i][1], _DIGITS) for i in (start, end))
    return TurningPoint(
        of="stock" if damage is None else "conversion",
        player_index=winner,
        opponent_index=victim,
        start_frame=conversion.start_frame,
        end_frame=conversion.end_frame,
        before=before,
        after=after,
        did_kill=conversion.did_kill,
        damage=damage or 0.0,
        moves=len(conversion.moves),
    )
