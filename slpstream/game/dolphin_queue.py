"""Clips of replays, and the queues that tell Dolphin which clips it should play.

The format is the same as in Clippi's `combos.json` and in Dolphin's communication file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from slpstream.sources.packed import is_packed

if TYPE_CHECKING:
    from slpstream.store import StoredGame

FORMAT = "slippi"
"""The format of the games that Dolphin can play."""
FIRST_FRAME = -123
"""The default of `startFrame`: the first frame of nearly every game."""
FRAMES_PER_SECOND = 60
COMBO_LEAD_FRAMES, COMBO_TAIL_FRAMES = 240, 180
"""The frames shown before and after a moment, as by Clippi (586339f)."""


class Clip(NamedTuple):
    """A part of a replay. Both the first and the last frame belong to it."""

    path: Path
    start_frame: int
    end_frame: int
    station: str = ""
    """The station in the title of Dolphin's window."""
    first_frame: int = FIRST_FRAME
    """The first frame of the replay, from which Dolphin fast-forwards to the clip."""

    @property
    def playable(self) -> bool:
        """Whether the file exists and the frames are in a sensible order. This reads from the disk, so it can block."""
        return self.first_frame <= self.start_frame < self.end_frame and self.path.is_file()


def replay_path(game: StoredGame) -> Path | None:
    """Return the replay of a game that Dolphin can play; `None` if there is none."""
    if game.row.format != FORMAT:
        return None
    for file in game.files:
        path = Path(os.fsdecode(file.path))
        if is_packed(path):
            continue  # Dolphin reads neither archives nor compressed replays
        try:
            file.path.decode()
        except UnicodeDecodeError:
            return None  # the file that Dolphin reads is JSON, which has no such names
        return path
    return None


def around(
    path: Path,
    start_frame: int,
    end_frame: int,
    *,
    first_frame: int = FIRST_FRAME,
    last_frame: int | None = None,
    station: str = "",
) -> Clip | None:
    """Return a clip of a moment, with a few seconds before and after it, or `None` if the game is too short for that.

    `first_frame` and `last_frame` are the first and last frame of the replay.
    """
    start = max(first_frame, start_frame - COMBO_LEAD_FRAMES)
    end = end_frame + COMBO_TAIL_FRAMES
    if last_frame is not None:
        end = min(end, last_frame)
    return Clip(path, start, end, station, first_frame) if start < end else None


def combos(clips: Sequence[Clip]) -> bytes:
    """Return the content of a file like Clippi's `combos.json`. You can open it with Dolphin and with Clippi."""
    content = {
        "mode": "queue",
        "replay": "",
        "isRealTimeMode": False,
        "outputOverlayFiles": True,
        "queue": queue_of(clips),
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def queue_of(clips: Iterable[Clip]) -> list[dict[str, Any]]:
    """Return a list of the clips in the form in which Dolphin's files have it."""
    return [
        {
            "path": str(clip.path),
            "startFrame": clip.start_frame,
            "endFrame": clip.end_frame,
            "gameStation": clip.station,
        }
        for clip in clips
    ]
