"""Highlights: the conversions and stocks of a game that are worth showing again, ranked by points.

| points | for |
| --- | --- |
| 1 per percent | the damage of the conversion |
| 40 | a kill |
| 40 | a kill of an opponent who had at most 10 percent before |
| 4 per move | each move after the third, up to the tenth |
| 15 per stock | a kill: the stocks that the player's side was behind when the conversion began |
| 20 | a kill that takes the last stock of the opponent's side |
| 50 | the loss of the last stock without a conversion, which decides a game of two players |

A conversion is a highlight from 50 points on. All of it follows from the stats, so a highlight is known in the frame in
which its conversion ends. Games without stocks have no points for comebacks and last stocks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import UNSET

from slpstream.formats.slippi.stats.schema import Conversion, Stock
from slpstream.model.highlight import Highlight, Reason

MIN_POINTS = 50
KILL_POINTS = 40
ZERO_TO_DEATH_POINTS = 40
MAX_ZERO_PERCENT = 10
MOVE_POINTS = 4
UNCOUNTED_MOVES = 3
MAX_COUNTED_MOVES = 10
BEHIND_POINTS = 15
LAST_STOCK_POINTS = 20
DECIDING_POINTS = 50
LONG_MOVES = 6
"""From this number of moves on, `length` is one of the reasons."""
GREAT_DAMAGE = 50
"""From this damage on, `damage` is one of the reasons. It is also the reason if there is no other."""
STOCK_FRAMES = 300
"""A stock that was lost without a conversion is shown from this many frames before the loss."""


def highlight_of_conversion(
    conversion: Conversion, stocks: Sequence[Stock], teams: Mapping[int, int] | None = None
) -> Highlight | None:
    """Return the highlight for the given conversion, or `None` if it isn't one.

    This is the case if it doesn't have enough points, if it has not ended, or if we don't know who hit. `stocks` are
    those of the game at the end of the conversion or later. If the game has teams, `teams` contains the team of each
    player, by player index.
    """
    moves, victim, end = conversion.moves, conversion.player_index, conversion.end_frame
    player = moves[-1].player_index if moves else conversion.last_hit_by
    if player is UNSET or end is UNSET or player == victim:
        return None
    damage = sum([move.damage for move in moves])
    killed = conversion.did_kill
    zero_to_death = killed and conversion.start_percent <= MAX_ZERO_PERCENT and damage != 0
    own, opponents = _side(player, stocks, teams), _side(victim, stocks, teams)
    behind = _left(stocks, opponents, conversion.start_frame) - _left(stocks, own, conversion.start_frame)
    is_last = _counts_stocks(stocks) and not _left(stocks, opponents, end)
    points: list[tuple[Reason, bool, int]] = [
        ("kill", killed, KILL_POINTS),
        ("zero-to-death", zero_to_death, ZERO_TO_DEATH_POINTS),
        ("damage", damage >= GREAT_DAMAGE, 0),
        ("length", len(moves) >= LONG_MOVES, 0),
        ("comeback", killed and behind > 0, BEHIND_POINTS * behind),
        ("last-stock", killed and is_last, LAST_STOCK_POINTS),
    ]
    reasons = tuple(reason for reason, applies, _ in points if applies)
    counted_moves = max(0, min(len(moves), MAX_COUNTED_MOVES) - UNCOUNTED_MOVES)
    score = sum([more for _, applies, more in points if applies], start=damage + MOVE_POINTS * counted_moves)
    if score < MIN_POINTS:
        return None
    return Highlight(
        of="conversion",
        player_index=player,
        opponent_index=victim,
        start_frame=conversion.start_frame,
        end_frame=end,
        score=round(score, 1),
        reasons=reasons or ("damage",),
        start_percent=round(conversion.start_percent, 1),
        damage=round(damage, 1),
        moves=len(moves),
    )


def highlight_of_stock(stock: Stock, opponent: int, stocks: Sequence[Stock]) -> Highlight | None:
    """Return the highlight for a stock that was lost outside of conversions, in a game of two players.

    `opponent` is the other player. If the loss doesn't decide the game, this returns `None`.
    """
    end = stock.end_frame
    if end is UNSET or not _counts_stocks(stocks) or _left(stocks, (stock.player_index,), end):
        return None
    return Highlight(
        of="stock",
        player_index=opponent,
        opponent_index=stock.player_index,
        start_frame=max(stock.start_frame, end - STOCK_FRAMES),
        end_frame=end,
        score=DECIDING_POINTS,
        reasons=("last-stock",),
        start_percent=round(0 if stock.end_percent is UNSET else stock.end_percent, 1),
    )


def _side(player: int, stocks: Sequence[Stock], teams: Mapping[int, int] | None) -> Collection[int]:
    """Return the player indices of the given player's side."""
    if not teams:
        return (player,)
    return {stock.player_index for stock in stocks if teams.get(stock.player_index) == teams.get(player)}


def _counts_stocks(stocks: Sequence[Stock]) -> bool:
    return bool(stocks) and stocks[0].count is not UNSET


def _left(stocks: Sequence[Stock], side: Collection[int], frame: int) -> int:
    """Return how many stocks a side has left after a frame. In a game without stocks, this is 0."""
    left: dict[int, int] = {}
    for stock in stocks:
        if stock.player_index in side and stock.start_frame <= frame and stock.count is not UNSET:
            lost = stock.end_frame is not UNSET and stock.end_frame <= frame
            left[stock.player_index] = stock.count - lost
    return sum(left.values())
