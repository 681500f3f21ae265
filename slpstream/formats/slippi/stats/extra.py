"""Stats that slippi-js doesn't have. You find them in the member `extra` of `stats` messages.

What each value means, its fields and its thresholds are documented in `stats.md`.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from slpstream.formats.slippi.stats.schema import Ratio, StatsStruct


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
