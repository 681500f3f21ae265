"""The values that the stats are made of: slippi-js's `StatsType` on the wire, and what we say beyond it (`extra`).

Names become camelCase on the wire. What is not known, or has no meaning, is left out. Percents and damages are in
percent, frames are frame numbers of the game (the first is -123) or counts of frames.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType


class Shape(msgspec.Struct, rename="camel", gc=False):
    """Base of all: camelCase names."""


class Stock(Shape):
    """slippi-js `StockType`: one life, from the first frame in which the player is not dying."""

    player_index: int
    start_frame: int
    end_frame: int | UnsetType = UNSET
    start_percent: float = 0
    end_percent: float | UnsetType = UNSET
    current_percent: float = 0
    count: int = 0
    """Stocks during this life, itself included."""
    death_animation: int | UnsetType = UNSET
    """The action state in the frame of the loss."""


class Move(Shape):
    """slippi-js `MoveLandedType`: a move that hit, once or several times."""

    player_index: int
    """Who hit."""
    frame: int
    move_id: int
    hit_count: int
    damage: float


class Conversion(Shape):
    """slippi-js `ConversionType`: `player_index` was hit by `last_hit_by`, until in control for 45 frames or dead."""

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


class Combo(Shape):
    """slippi-js `ComboType`: hits that left the player no 45 frames out of hitstun, grabs and knockdowns."""

    player_index: int
    start_frame: int
    last_hit_by: int | UnsetType = UNSET
    end_frame: int | UnsetType = UNSET
    start_percent: float = 0
    current_percent: float = 0
    end_percent: float | UnsetType = UNSET
    moves: list[Move] = []
    did_kill: bool = False


class EdgeCancels(Shape):
    """Landings that ended in a fall or a teeter: before the L-cancelled lag, before the full lag."""

    success: int
    slow: int


class Successes(Shape):
    """How often it went well and how often not."""

    success: int
    fail: int


class Attacks(Shape):
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


class Throws(Shape):
    """Throws by direction."""

    up: int
    forward: int
    back: int
    down: int


class GroundTechs(Shape):
    """Techs on the ground by direction, seen from the nearest opponent."""

    away: int
    in_: int = msgspec.field(name="in")
    neutral: int
    fail: int


class ActionCounts(Shape):
    """slippi-js `ActionCountsType`: what a player did, by action."""

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


class InputCounts(Shape):
    """slippi-js `InputCountsType`: inputs since frame -39."""

    buttons: int | UnsetType = UNSET
    triggers: int | UnsetType = UNSET
    cstick: int | UnsetType = UNSET
    joystick: int | UnsetType = UNSET
    total: int | UnsetType = UNSET


class Ratio(Shape):
    """slippi-js `RatioType`: `ratio` is left out when `total` is 0."""

    count: float | UnsetType
    total: float
    ratio: float | UnsetType | None = UNSET


class Overall(Shape):
    """slippi-js `OverallType`: the summary of a player."""

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


class Stats(Shape):
    """slippi-js `StatsType`, and beyond it `extra`."""

    game_complete: bool
    last_frame: int
    playable_frame_count: int
    stocks: list[Stock]
    conversions: list[Conversion]
    combos: list[Combo]
    action_counts: list[ActionCounts]
    overall: list[Overall]
    extra: Any = UNSET
