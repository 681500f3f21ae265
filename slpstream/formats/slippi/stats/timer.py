"""The timer of the game in the form in which you see it on screen: `mm:ss.SS`.

It is computed from the settings `timer_type` (0 none, 2 counting down, 3 counting up) and `starting_timer_seconds`, and
from the frame number f. The sixty frames of a second are shown as 00 to 99. If the timer counts down, this is `(60 - f
% 60) % 60 * 99 / 59`, rounded up, and if it counts up, `f % 60 * 99 / 59`, rounded down. If there is no timer, you get
`Infinite`, and if there is no starting time, `Unknown`. The source is the rules of slippi-js 9.1.
"""

from __future__ import annotations

import math

from slpstream.formats.slippi.commands import FIRST_FRAME, FRAMES_PER_SECOND
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.game_time import timer_start_at_end

COUNTING_DOWN, COUNTING_UP = 2, 3


def timer_text(settings: Settings, frame: int) -> str:
    """Return what the timer shows at the given frame, which is counted from the one in which the timer starts."""
    frame = max(0, frame)
    if settings.timer_type == COUNTING_DOWN:
        if not settings.starting_timer_seconds:
            return "Unknown"
        whole = settings.starting_timer_seconds - frame / FRAMES_PER_SECOND
        shown = math.ceil((FRAMES_PER_SECOND - frame % FRAMES_PER_SECOND) % FRAMES_PER_SECOND * 99 / 59)
        return _text(max(0, math.floor(whole)), shown if whole > 0 else 0)
    if settings.timer_type == COUNTING_UP:
        return _text(frame // FRAMES_PER_SECOND, math.floor(frame % FRAMES_PER_SECOND * 99 / 59))
    return "Infinite"


def _text(seconds: int, hundredths: int) -> str:
    return f"{seconds // 60:02}:{seconds % 60:02}.{hundredths:02}"


def first_frame(last_frame: int | None, duration_seconds: float | None, playable_frames: int) -> int:
    """Return the first frame of a game, which we can conclude from its last frame and its duration.

    If we don't know the duration yet, we use the number of frames in which players had control. If nothing was played
    in the game, the result is -123.
    """
    seconds = duration_seconds or playable_frames / FRAMES_PER_SECOND
    return FIRST_FRAME + (timer_start_at_end(last_frame, seconds) if seconds else 0)
