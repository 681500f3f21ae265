"""The time of a game, counted from its frame numbers.

The frames of a game are numbered from -123 on; players have control from -39 on, and the timer starts at 0. Two modes
differ: the frames of Slo-Mo Melee begin with another number, such as 262433 (observed), and Training Mode sends one
number in all frames, so it does not count time (reported).
"""

from __future__ import annotations

from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME, FRAMES_PER_SECOND


def timer_start(first_frame: int | None) -> int:
    """The number of the frame in which the timer of a game starts; `first_frame` is the first one in its file.

    A game that begins within the countdown, between -123 and 0, lacks some frames at most, and its timer starts at 0.
    """
    if first_frame is None or FIRST_FRAME <= first_frame <= 0:
        return 0
    return first_frame - FIRST_FRAME


def timer_start_at_end(last_frame: int | None, duration_seconds: float | None) -> int:
    """The number of the frame in which the timer starts, from the last frame and the duration of the game.

    Either is `None` if it is not known. Without a duration, the timer starts so late that no time has passed.
    """
    if last_frame is None:
        return 0
    return last_frame - FIRST_PLAYABLE_FRAME - round(FRAMES_PER_SECOND * (duration_seconds or 0.0))


def playable_frames(frame: int, timer_start: int) -> int:
    """The number of frames up to a frame in which players have control."""
    return max(0, frame - timer_start - FIRST_PLAYABLE_FRAME)


def playable_seconds(frame: int, timer_start: int) -> float:
    """The time in seconds up to a frame in which players have control."""
    return playable_frames(frame, timer_start) / FRAMES_PER_SECOND


def timer_seconds(frame: int, timer_start: int) -> float:
    """The time in seconds that the timer has run in a frame."""
    return max(0, frame - timer_start) / FRAMES_PER_SECOND
