"""The time of a game, which we get from its frame numbers.

The first frame of a game has the number -123. Players have control from -39 on, and the timer starts at 0. There are
two modes that are different: in Slo-Mo Melee, the frames begin with another number, for example 262433 (observed). In
Training Mode, all frames have the same number, so we can't use it to count time (reported).
"""

from __future__ import annotations

from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME, FRAMES_PER_SECOND


def timer_start(first_frame: int | None) -> int:
    """Return the number of the frame in which the timer of a game starts. `first_frame` is the first one in its file.

    If the game begins within the countdown, between -123 and 0, then it might lack some frames, but its timer starts at
    0.
    """
    if first_frame is None or FIRST_FRAME <= first_frame <= 0:
        return 0
    return first_frame - FIRST_FRAME


def timer_start_at_end(last_frame: int | None, duration_seconds: float | None) -> int:
    """Return the number of the frame in which the timer starts, given the last frame and the duration of the game.

    If you don't know one of them, pass `None`. Without a duration, the timer starts so late that no time has passed.
    """
    if last_frame is None:
        return 0
    return last_frame - FIRST_PLAYABLE_FRAME - round(FRAMES_PER_SECOND * (duration_seconds or 0.0))


def playable_frames(frame: int, timer_start: int) -> int:
    """Return in how many frames, up to this one, players had control."""
    return max(0, frame - timer_start - FIRST_PLAYABLE_FRAME)


def timer_seconds(frame: int, timer_start: int) -> float:
    """Return for how many seconds the timer has been running in the given frame."""
    return max(0, frame - timer_start) / FRAMES_PER_SECOND
