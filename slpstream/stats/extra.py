"""What the stats say beyond slippi-js: the member `extra` of a `stats` message.

The page `stats.md` says of each what it counts, from which fields, with which thresholds.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from slpstream.stats.schema import Ratio, Shape


class KillMove(Shape):
    """A kill of a player."""

    frame: int
    player_index: int
    """Who lost the stock."""
    move_id: int | UnsetType
    """The last move that hit; absent when none did."""
    percent: float
    """Of who lost it, in the frame before."""
    opening_type: str


class Played(Shape):
    """How long a player was a character: Zelda and Sheik change."""

    internal_character_id: int
    frames: int
    damage: float
    kills: int


class Exchange(Shape):
    """What a player did to another, team-mates included."""

    player_index: int
    """Who was hit."""
    moves: int
    damage: float
    kills: int


class PlayerExtra(Shape):
    """Of one player."""

    player_index: int
    kill_moves: list[KillMove]
    self_destructs: int
    """Stocks that were lost while no conversion ran, and to nobody that `last_hit_by` names."""
    exchanges: list[Exchange]
    characters: list[Played]
    shield_frames: int
    ledge_frames: int
    off_stage_frames: int | UnsetType
    recoveries: Ratio | UnsetType
    """Successful ones of all that were tried."""
    stage_control: Ratio
    """Frames nearest to the middle of those that were contested."""
    live_inputs_per_minute: float | UnsetType
    """Over the last 600 frames."""
    stocks_given_up: int | UnsetType = UNSET
    """Crew battles: stocks lost before the first hit of the game, to even out the count."""


class FirstBlood(Shape):
    """The first kill of the game."""

    frame: int
    player_index: int
    last_hit_by: int


class Rollbacks(Shape):
    """Frames that were sent again, netplay only."""

    frames: int
    """Frame numbers that were sent more than once."""
    sendings: int
    """How often that was, all together."""
    longest: int
    """The longest run of such frame numbers."""


class Extra(Shape):
    """Beyond slippi-js."""

    timer: str
    """The game's clock, as on the screen."""
    players: list[PlayerExtra]
    first_blood: FirstBlood | UnsetType = UNSET
    rollbacks: Rollbacks | UnsetType = UNSET
    pauses: int = 0
    paused_frames: int = 0
