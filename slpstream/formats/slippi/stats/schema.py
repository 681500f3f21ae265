"""The values of the stats in messages. They have the form of slippi-js's `StatsType`. Everything else is in `extra`.

In messages, names are written in camelCase, and if a value is unknown or doesn't make sense, it is left out. Percents
and damages are in percent. Frames are either frame numbers of the game (where the first one is -123) or counts of
frames.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class StatsStruct(msgspec.Struct, rename="camel", gc=False):
    """Base class: camelCase names in messages."""


class Stock(StatsStruct):
    """slippi-js `StockType`: one life, from the first frame in which the player is not dying."""

    player_index: int
    start_frame: int
    end_frame: int | UnsetType = UNSET
    start_percent: float = 0
    end_percent: float | UnsetType = UNSET
    current_percent: float = 0
    count: int | UnsetType = 0
    """Stocks left during this life, this one included; absent in modes without stocks."""
    death_animation: int | UnsetType = UNSET
    """Action state in the frame of the loss."""


class Move(StatsStruct):
    """slippi-js `MoveLandedType`: a move that hit, once or several times."""

    player_index: int
    """The hitter."""
    frame: int
    move_id: int
    hit_count: int
    damage: float


class Conversion(StatsStruct):
    """slippi-js `ConversionType`: a punish on `player_index` by `last_hit_by`.

    It lasts until the player has been in control for 45 frames or loses the stock.
    """

    player_index: int
    start_frame: int
    last_hit_by: int | UnsetType = UNSET
    end_frame: int | UnsetType = UNSET
    start_percent: float = 0
    current_percent: float = 0
    end_percent: float | UnsetType = UNSET
    moves: list[Move] = []
    did_kill: bool = False
    opening_type: str = "unknown"
    """`neutral-win`, `counter-attack` or `trade`."""


class Combo(StatsStruct):
    """slippi-js `ComboType`: hits with less than 45 frames outside hitstun, grabs and knockdowns in between."""

    player_index: int
    start_frame: int
    last_hit_by: int | UnsetType = UNSET
    end_frame: int | UnsetType = UNSET
    start_percent: float = 0
    current_percent: float = 0
    end_percent: float | UnsetType = UNSET
    moves: list[Move] = []
    did_kill: bool = False


class EdgeCancels(StatsStruct):
    """Landings that ended in a fall or a teeter: `success` before the L-cancelled lag, `slow` before the full lag."""

    success: int
    slow: int


class Successes(StatsStruct):
    """Counts of successes and failures."""

    success: int
    fail: int


class Attacks(StatsStruct):
    """Attacks by kind."""

    jab1: int
    jab2: int
    jab3: int
    jabm: int
    dash: int
    ftilt: int
    utilt: int
    dtilt: int
    fsmash: int
    usmash: int
    dsmash: int
    nair: int
    fair: int
    bair: int
    uair: int
    dair: int


class Throws(StatsStruct):
    """Throws by direction."""

    up: int
    forward: int
    back: int
    down: int


class GroundTechs(StatsStruct):
    """Techs on the ground by direction: towards the nearest opponent (`in`), away, or in place."""

    away: int
    in_: int = msgspec.field(name="in")
    neutral: int
    fail: int


class ActionCounts(StatsStruct):
    """slippi-js `ActionCountsType`: the actions of a player."""

    player_index: int
    wavedash_count: int
    waveland_count: int
    air_dodge_count: int
    dash_dance_count: int
    spot_dodge_count: int
    ledgegrab_count: int
    roll_count: int
    taunt_count: int
    edge_cancel_count: EdgeCancels
    l_cancel_count: Successes
    attack_count: Attacks
    grab_count: Successes
    throw_count: Throws
    ground_tech_count: GroundTechs
    wall_tech_count: Successes


class InputCounts(StatsStruct):
    """slippi-js `InputCountsType`: inputs from frame -39 on."""

    buttons: int | UnsetType = UNSET
    triggers: int | UnsetType = UNSET
    cstick: int | UnsetType = UNSET
    joystick: int | UnsetType = UNSET
    total: int | UnsetType = UNSET


class Ratio(StatsStruct):
    """slippi-js `RatioType`. `ratio` is left out when `total` is 0."""

    count: float | UnsetType
    total: float
    ratio: float | UnsetType | None = UNSET


class Overall(StatsStruct):
    """slippi-js `OverallType`: the overall stats of a player."""

    player_index: int
    input_counts: InputCounts
    conversion_count: int
    total_damage: float
    kill_count: int
    successful_conversions: Ratio
    inputs_per_minute: Ratio
    digital_inputs_per_minute: Ratio
    openings_per_kill: Ratio
    damage_per_opening: Ratio
    neutral_win_ratio: Ratio
    counter_hit_ratio: Ratio
    beneficial_trade_ratio: Ratio


class Stats(StatsStruct):
    """slippi-js `StatsType`, and `extra`."""

    game_complete: bool
    last_frame: int
    playable_frame_count: int
    stocks: list[Stock]
    conversions: list[Conversion]
    combos: list[Combo]
    action_counts: list[ActionCounts]
    overall: list[Overall]
    extra: Any = UNSET


def entry_count(stats: Stats) -> int:
    """Return how many entries there are in the lists that grow with the game. This includes the moves."""
    moves = sum([len(conversion.moves) for conversion in stats.conversions])
    moves += sum([len(combo.moves) for combo in stats.combos])
    return len(stats.stocks) + len(stats.conversions) + len(stats.combos) + moves
