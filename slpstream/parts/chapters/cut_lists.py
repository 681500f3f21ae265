"""The in and out points of clips in the timecode of a recording.

You can get them as an edit decision list (CMX 3600) or as CSV.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slpstream.model.csv_cells import csv_cell
from slpstream.parts.chapters.clips import Clip

MAX_EVENTS = 999
"""Maximum number of events in an edit decision list, where numbers have three digits."""
_DAY_SECONDS = 24 * 3600
_COLUMNS = ("station", "title", "in", "out", "in_seconds", "out_seconds", "set_id", "game_ids")


class Cut(NamedTuple):
    """A clip with its in and out points. They are in milliseconds, and count from the beginning of the recording."""

    clip: Clip
    in_ms: int
    out_ms: int


def cuts(clips: Iterable[Clip], start_ms: int, end_ms: int | None = None, *, padding_ms: int = 0) -> list[Cut]:
    """Return the cuts of a recording between two Unix times. If you don't know when it ended, pass `None`.

    Each cut gets longer by `padding_ms` on both sides. Clips that are outside of the recording are left out, and if a
    clip is partly outside, it is shortened.
    """
    found: list[Cut] = []
    for clip in sorted(clips, key=lambda clip: (clip.start_ms, clip.end_ms)):
        in_ms = max(clip.start_ms - padding_ms - start_ms, 0)
        out_ms = clip.end_ms + padding_ms - start_ms
        out_ms = out_ms if end_ms is None else min(out_ms, end_ms - start_ms)
        if clip.end_ms > start_ms and (end_ms is None or clip.start_ms < end_ms) and out_ms > in_ms:
            found.append(Cut(clip, in_ms, out_ms))
    return found


def edit_decision_list(found: Sequence[Cut], rate: int, title: str = "slpstream") -> str:
    """Write the cuts one after the other, with timecodes of `rate` frames per second, non-drop.

    There can't be more than `MAX_EVENTS`, so all cuts after these are left out. After a day, timecodes start again.
    """
    lines = [f"TITLE: {title}", "FCM: NON-DROP FRAME", ""]
    at = 0
    for number, cut in enumerate(found[:MAX_EVENTS], 1):
        first, last = _frames(cut.in_ms, rate), max(_frames(cut.out_ms, rate), _frames(cut.in_ms, rate) + 1)
        times = [timecode(frame, rate) for frame in (first, last, at, at + last - first)]
        at += last - first
        lines += [
            f"{number:03d}  AX       B     C        {' '.join(times)}",
            f"* FROM CLIP NAME: {_one_line(cut.clip.title)}",
        ]
    return "\n".join([*lines, ""])


def table(found: Iterable[Cut]) -> str:
    """Write the cuts as CSV. The first line contains the headings."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for cut in found:
        times = (_clock(cut.in_ms), _clock(cut.out_ms), f"{cut.in_ms / 1000:.3f}", f"{cut.out_ms / 1000:.3f}")
        clip = cut.clip
        title = csv_cell(_one_line(clip.title))
        writer.writerow([csv_cell(clip.station), title, *times, clip.set_id, " ".join(clip.game_ids)])
    return out.getvalue()


def timecode(frame: int, rate: int) -> str:
    """`HH:MM:SS:FF`."""
    seconds, rest = divmod(frame, rate)
    return f"{_hours(seconds % _DAY_SECONDS)}:{rest:02d}"


def _clock(milliseconds: int) -> str:
    return f"{_hours(milliseconds // 1000)}.{milliseconds % 1000:03d}"


def _hours(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _frames(milliseconds: int, rate: int) -> int:
    return milliseconds * rate // 1000


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
