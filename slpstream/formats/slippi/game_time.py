"""The time of a game, which we get from its frame numbers.

The first frame of a game has the number -123. Players have control from -39 on, and the timer starts at 0. There are
two modes that are different: in Slo-Mo Melee, the frames begin with another number, for example 262433 (observed). In
Training Mode, all frames have the same number, so we can't use it to count time (reported).
"""

from __future__ import annotations

import math

from slpstream.formats.slippi.commands import FIRST_FRAME, FIRST_PLAYABLE_FRAME, FRAMES_PER_SECOND
from slpstream.formats.slippi.game_start import Settings

COUNTING_DOWN, COUNTING_UP = 2, 3
"""Values of `timer_type`. 0 is no timer."""


def timer_start(first_frame: int | None) -> int:
    """Return the number of the frame in which the timer of a game starts. `first_frame` is the first one in its file.

    A game that begins within the countdown, from -123 to 0, might lack some frames, but its timer starts at 0.
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


def timer_text(settings: Settings, frame: int) -> str:
    """Return the timer of the game in the form in which you see it on screen: `mm:ss.SS`.

    `frame` is counted from the one in which the timer starts. The sixty frames of a second are shown as 00 to 99. If
    the timer counts down, this is `(60 - frame % 60) % 60 * 99 / 59`, rounded up, and if it counts up, `frame % 60 * 99
    / 59`, rounded down. If there is no timer, you get `Infinite`, and if there is no starting time, `Unknown`. The
    source is the rules of slippi-js 9.1.
    """
    frame = max(0, frame)
    if settings.timer_type == COUNTING_DOWN:
        if not settings.starting_timer_seconds:
            return "Unknown"
        whole = settings.starting_timer_seconds - frame / FRAMES_PER_SECOND
        shown = math.ceil((FRAMES_PER_SECOND - frame % FRAMES_PER_SECOND) % FRAMES_PER_SECOND * 99 / 59)
        seconds, hundredths = max(0, math.floor(whole)), shown if whole > 0 else 0
    elif settings.timer_type == COUNTING_UP:
        seconds, hundredths = frame // FRAMES_PER_SECOND, math.floor(frame % FRAMES_PER_SECOND * 99 / 59)
    else:
        return "Infinite"
    return f"{seconds // 60:02}:{seconds % 60:02}.{hundredths:02}"


def first_frame(last_frame: int | None, duration_seconds: float | None) -> int:
    """Return the first frame of a game, which we can conclude from its last frame and its duration.

    If the duration is unknown, or nothing was played in the game, the result is -123.
    """
    return FIRST_FRAME + (timer_start_at_end(last_frame, duration_seconds) if duration_seconds else 0)
