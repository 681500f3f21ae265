"""The turning points of a game: the largest swings of the odds, with the conversion or the stock that caused each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from slpstream.model.prepared import prepared
from slpstream.parts.services import Span, Swing

MAX_TURNING_POINTS = 5
_MIN_SWING = 0.01
SwingOf = Callable[[Span], Swing | None]
"""Returns how much the odds have changed in a part of the game."""


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
        return Swing(self.before, self.after).gained


def turning_points(
    players: Sequence[int],
    swing_of: SwingOf,
    conversions: Iterable[Conversion],
    stocks: Iterable[tuple[int, int]],
) -> list[TurningPoint]:
    """Return the largest swings, beginning with the largest.

    Each of the `stocks` is the frame of a loss and the index of the player who lost it.
    """
    found = []
    killed = set()
    for conversion in conversions:
        if conversion.did_kill:
            killed.add((conversion.end_frame, conversion.player_index))
        found.append(_turning_point(players, swing_of, conversion, "conversion"))
    for frame, victim in stocks:
        if (frame, victim) not in killed:
            found.append(_turning_point(players, swing_of, Conversion(victim, frame, frame, did_kill=True), "stock"))
    large = [point for point in found if point is not None and point.swing >= _MIN_SWING]
    return sorted(large, key=lambda point: (-point.swing, point.start_frame))[:MAX_TURNING_POINTS]


def _turning_point(
    players: Sequence[int], swing_of: SwingOf, conversion: Conversion, of: Literal["conversion", "stock"]
) -> TurningPoint | None:
    """Return the turning point for a conversion, or `None` if there are no odds for it."""
    victim = conversion.player_index
    if victim not in players:
        return None
    [winner] = [player for player in players if player != victim]
    swing = swing_of(Span(winner, conversion.start_frame, conversion.end_frame))
    if swing is None:
        return None
    return TurningPoint(
        of=of,
        player_index=winner,
        opponent_index=victim,
        start_frame=conversion.start_frame,
        end_frame=conversion.end_frame,
        before=swing.before,
        after=swing.after,
        did_kill=conversion.did_kill,
        damage=round(sum(move.damage or 0 for move in conversion.moves), 1),
        moves=len(conversion.moves),
    )
