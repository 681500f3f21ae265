"""Chapters that you can put into the description of a video on YouTube.

YouTube has some rules, and if you break one of them, it ignores the whole list: there must be one chapter on each line,
beginning with the time, and the first one must be at 0:00. There must be at least three of them, in ascending order,
and each must be at least ten seconds long. Also, a description can't have more than 5,000 characters, or contain `<` or
`>`. This module doesn't do any I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slpstream.parts.chapters.clips import Clip

MIN_CHAPTERS = 3
MIN_SECONDS = 10
MAX_CHARACTERS = 5000
MAX_TITLE = 100
OPENING = "Start"
"""Title of the chapter before the first clip."""


class Chapter(NamedTuple):
    """A chapter."""

    seconds: int
    """The time in the video."""
    title: str


class NoChapters(Exception):
    """Raised if there is no list of chapters that YouTube would accept. The message explains why."""


def chapters(clips: Iterable[Clip], start_ms: int, end_ms: int | None = None) -> list[Chapter]:
    """Return the chapters of a video that shows these clips.

    `start_ms` and `end_ms` are the Unix times when the video begins and ends. If you don't pass the end, it is the same
    as the end of the last clip. If a clip would be too short, it becomes a part of the clip before it. Raises
    `NoChapters` if there's no list that YouTube would accept.
    """
    shown = [clip for clip in clips if clip.end_ms > start_ms and (end_ms is None or clip.start_ms < end_ms)]
    last_ms = max((clip.end_ms for clip in shown), default=start_ms) if end_ms is None else end_ms
    found: list[Chapter] = []
    for clip in sorted(shown, key=lambda clip: (clip.start_ms, clip.end_ms)):
        seconds = max(0, (clip.start_ms - start_ms) // 1000)
        if not found:
            if seconds >= MIN_SECONDS:
                found.append(Chapter(0, OPENING))
            else:
                seconds = 0
        _append(found, Chapter(seconds, _title(clip.title)))
    while len(found) > 1 and (last_ms - start_ms) // 1000 - found[-1].seconds < MIN_SECONDS:
        _append(found, found.pop()._replace(seconds=found[-1].seconds))
    if len(found) < MIN_CHAPTERS:
        raise NoChapters(f"YouTube wants at least {MIN_CHAPTERS} chapters, and there are {len(found)}")
    length = len(text(found))
    if length > MAX_CHARACTERS:
        raise NoChapters(f"the list has {length} characters, and a description on YouTube at most {MAX_CHARACTERS}")
    return found


def text(found: Sequence[Chapter]) -> str:
    """Return the lines that you can copy into the description."""
    return "".join(f"{_clock(chapter.seconds)} {chapter.title}\n" for chapter in found)


def _append(found: list[Chapter], chapter: Chapter) -> None:
    """Add a chapter. If this would make the last chapter too short, it becomes a part of that one instead."""
    if not found or chapter.seconds - found[-1].seconds >= MIN_SECONDS:
        found.append(chapter)
        return
    last = found[-1]
    if chapter.title not in last.title.split(" / "):
        found[-1] = last._replace(title=_title(f"{last.title} / {chapter.title}"))


def _title(title: str) -> str:
    """Return the title on one line, without those characters that YouTube refuses."""
    plain = " ".join("".join(c for c in title if c not in "<>" and (c.isprintable() or c.isspace())).split())
    if len(plain) > MAX_TITLE:
        plain = plain[: MAX_TITLE - 1].rstrip() + "…"
    return plain or "Untitled"


def _clock(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
