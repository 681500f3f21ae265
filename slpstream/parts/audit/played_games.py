"""The games of a setup and their values."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from slpstream.model.setup import Pacing, RevealedSetup, SetupValue

CLOCK, FRAME_RATE, STUTTERS = "clock", "frame_rate", "stutters"
"""Names of the measured values, which are equal within a tolerance."""
_MIN_PACED_SECONDS = 20.0
"""Shorter games do not show the frame rate."""


class PlayedGame(msgspec.Struct, frozen=True, kw_only=True):
    """One game of a setup."""

    game_id: str
    at_ms: int
    """The time of the game, in Unix milliseconds."""
    revealed: RevealedSetup
    duration_seconds: float | None = None
    """`None` while it is being played."""
    skew_seconds: float | None = None
    """How far the console's clock was ahead of the daemon's, or `None` for games whose arrival was not observed."""
    pacing: Pacing | None = None
    """`None` for games whose arrival was not observed, and for a game that is being played."""


class Measured(msgspec.Struct, frozen=True):
    """A value to compare. It has to be equal or, if it has a number, close enough to it."""

    value: SetupValue
    number: float | None = None


def measured_values(game: PlayedGame) -> Sequence[Measured]:
    """Return all values of the given game."""
    values = [Measured(value) for value in game.revealed.values]
    if game.skew_seconds is not None:
        text = clock_text(game.skew_seconds)
        values.append(_number(CLOCK, "clock", game.skew_seconds, text))
    pacing = game.pacing
    if pacing is not None and pacing.seconds >= _MIN_PACED_SECONDS:
        rate, per_minute = pacing.frames_per_second, 60 * pacing.stutters / pacing.seconds
        values.append(_number(FRAME_RATE, "frames per second", rate, f"{rate:.1f}"))
        values.append(_number(STUTTERS, "stutters per minute", per_minute, f"{per_minute:.0f}"))
    return values


def _number(name: str, title: str, number: float, text: str) -> Measured:
    return Measured(SetupValue(name=name, title=title, value=f"{number:.3f}", text=text), number)


def clock_text(skew_seconds: float) -> str:
    """Describe the error of a clock in words, for example `37 min ahead`."""
    seconds = round(abs(skew_seconds))
    if seconds < 60:
        amount = f"{seconds} s"
    else:
        days, minutes = divmod(round(seconds / 60), 24 * 60)
        hours, minutes = divmod(minutes, 60)
        parts = ((days, "d"), (hours, "h"), (minutes, "min"))
        amount = " ".join(f"{count} {unit}" for count, unit in parts if count)
    if seconds == 0:
        return "exact"
    return f"{amount} {'ahead' if skew_seconds > 0 else 'behind'}"
