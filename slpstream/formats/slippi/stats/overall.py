"""The overall stats of each player. They are computed from conversions and inputs, in the same way as in slippi-js.

A move is credited to the player who hit, an opening to the player of the first move, and a kill to `last_hit_by`. If
there are two players, each conversion on one of them belongs to the other one, even if it doesn't contain any move.
Damage and openings between team-mates don't count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET, UnsetType

from slpstream.formats.slippi.stats.game_state import GameState
from slpstream.formats.slippi.stats.punishes import COUNTER_ATTACK, NEUTRAL_WIN, TRADE
from slpstream.formats.slippi.stats.schema import Conversion, InputCounts, Overall, Ratio

FRAMES_PER_MINUTE = 3600


def ratio(count: float, total: float) -> Ratio:
    """slippi-js `RatioType`."""
    return Ratio(count, total, count / total if total else UNSET)


@dataclass
class _Sums:
    """Sums over the conversions by one player."""

    damage: float
    conversions: int = 0
    successes: int = 0
    kills: int = 0
    neutrals: int = 0
    counters: int = 0
    trades: list[Conversion] = field(default_factory=list)


def overall(
    game: GameState, conversions: Sequence[Conversion], inputs: Mapping[int, InputCounts], playable_frames: int
) -> list[Overall]:
    """Return one entry for each player.

    The `conversions` must already have their opening types. `inputs` are by player index.
    """
    sums = {player.index: _Sums(player.hits.outside_damage) for player in game.players}
    opponents = {index: [other.index for other in others] for index, others in game.opponents.items()}
    for conversion in conversions:
        victim, moves = conversion.player_index, conversion.moves
        if not moves and not game.is_pair:
            continue
        by = moves[0].player_index if moves else opponents[victim][0]
        if by not in sums or victim not in opponents[by]:
            continue
        own = sums[by]
        own.conversions += 1
        own.successes += len(moves) > 1
        killer = conversion.last_hit_by
        if conversion.did_kill and killer in sums and victim in opponents[killer]:
            sums[killer].kills += 1
        for move in moves:
            hitter = move.player_index
            if hitter in sums and victim in opponents[hitter]:
                sums[hitter].damage += move.damage
        if moves:
            kind = conversion.opening_type
            own.neutrals += kind == NEUTRAL_WIN
            own.counters += kind == COUNTER_ATTACK
            if kind == TRADE:
                own.trades.append(conversion)
    minutes = playable_frames / FRAMES_PER_MINUTE
    return [
        _entry(player, sums[player], [sums[other] for other in others], inputs[player], minutes)
        for player, others in opponents.items()
    ]


def _entry(player: int, own: _Sums, others: list[_Sums], counts: InputCounts, minutes: float) -> Overall:
    theirs = [trade for other in others for trade in other.trades]
    return Overall(
        player,
        counts,
        own.conversions,
        own.damage,
        own.kills,
        ratio(own.successes, own.conversions),
        _per_minute(counts.total, minutes),
        _per_minute(counts.buttons, minutes),
        ratio(own.conversions, own.kills),
        ratio(own.damage, own.conversions),
        ratio(own.neutrals, own.neutrals + sum(other.neutrals for other in others)),
        ratio(own.counters, own.counters + sum(other.counters for other in others)),
        ratio(_beneficial(own.trades, theirs), len(own.trades)),
    )


def _per_minute(count: int | UnsetType, minutes: float) -> Ratio:
    """Return the ratio to the minutes. If there's no count, slippi-js divides `undefined`, and the result is NaN."""
    if count is UNSET:
        return Ratio(UNSET, minutes, None if minutes else UNSET)
    return ratio(count, minutes)


def _beneficial(mine: list[Conversion], theirs: list[Conversion]) -> int:
    """Return how many trades were good for a player: only the own conversion killed, or it did more damage."""
    count = 0
    for my, their in zip(mine, theirs, strict=False):
        more = my.current_percent - my.start_percent > their.current_percent - their.start_percent
        count += more or (my.did_kill and not their.did_kill)
    return count
