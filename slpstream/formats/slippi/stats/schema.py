"""The values of the stats in messages. They have the form of slippi-js's `StatsType`. Everything else is in `extra`:
`stats.md` documents what these values mean, with their thresholds.

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


class Punish(StatsStruct):
    """What conversions and combos have in common: hits on `player_index`, the last one by `last_hit_by`."""

    player_index: int
    start_frame: int
    last_hit_by: int | UnsetType = UNSET
    end_frame: int | UnsetType = UNSET
    start_percent: float = 0
    current_percent: float = 0
    end_percent: float | UnsetType = UNSET
    moves: list[Move] = []
    did_kill: bool = False


class Conversion(Punish):
    """slippi-js `ConversionType`: a punish on `player_index` by `last_hit_by`.

    It lasts until the player has been in control for 45 frames or loses the stock.
    """

    opening_type: str = "unknown"
    """`neutral-win`, `counter-attack` or `trade`."""


class Combo(Punish):
    """slippi-js `ComboType`: hits with less than 45 frames outside hitstun, grabs and knockdowns in between."""


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


class KillMove(StatsStruct):
    """A move that took a stock."""

    frame: int
    player_index: int
    """The player that lost the stock."""
    move_id: int | UnsetType
    """The last move that hit; absent in a conversion without moves."""
    percent: float
    """Percent of that player in the frame before."""
    opening_type: str


class CharacterTotals(StatsStruct):
    """Totals of a player with one character; Zelda and Sheik can change into each other."""

    internal_character_id: int
    frames: int
    damage: float
    kills: int


class HitTotals(StatsStruct):
    """Totals of one player's hits on another, team-mates included."""

    player_index: int
    """The player that was hit."""
    moves: int
    damage: float
    kills: int


class PlayerExtra(StatsStruct):
    """The stats of one player beyond slippi-js."""

    player_index: int
    kill_moves: list[KillMove]
    self_destructs: int
    """Stocks lost without an open conversion and without a hitter; without stocks, falls without a hitter."""
    exchanges: list[HitTotals]
    characters: list[CharacterTotals]
    shield_frames: int
    ledge_frames: int
    off_stage_frames: int | UnsetType
    recoveries: Ratio | UnsetType
    """Successful recoveries out of all that were tried."""
    stage_control: Ratio
    """Frames nearest to the middle of the stage, out of the contested frames."""
    live_inputs_per_minute: float | UnsetType
    """Inputs per minute over the last 600 frames."""
    stocks_given_up: int | UnsetType = UNSET
    """Crew battles only: stocks given up before the first hit, to begin with as many as the crew has left."""
    falls: int | UnsetType = UNSET
    """Modes without stocks only: lives that ended."""
    kos: int | UnsetType = UNSET
    """Modes without stocks only: opponents that fell after being hit last by this player."""
    score: int | UnsetType = UNSET
    """Time mode only: KOs minus falls."""


class FirstBlood(StatsStruct):
    """The first kill of the game."""

    frame: int
    player_index: int
    last_hit_by: int


class Rollbacks(StatsStruct):
    """Frames that were sent again, on netplay."""

    frames: int
    """Number of frame numbers that were sent more than once."""
    sendings: int
    """Number of all sendings of these frame numbers."""
    longest: int
    """Length of the longest run of such frame numbers."""


class Extra(StatsStruct):
    """The stats of a game beyond slippi-js."""

    timer: str
    """The timer as the screen shows it."""
    players: list[PlayerExtra]
    first_blood: FirstBlood | UnsetType = UNSET
    rollbacks: Rollbacks | UnsetType = UNSET
    pauses: int = 0
    paused_frames: int = 0


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
    """An `Extra`; absent with `compat`."""
