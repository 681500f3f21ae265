"""Chapters for the description of a video on YouTube. Pure.

YouTube ignores the whole list if it breaks one rule: one chapter a line, time first; the first at 0:00; at least three;
in ascending order; each at least ten seconds long. A description has at most 5,000 characters, and no `<` or `>`.
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
    """YouTube would accept no list of chapters. The message is the reason."""


def chapters(clips: Iterable[Clip], start_ms: int, end_ms: int | None = None) -> list[Chapter]:
    """The chapters of a video that shows these clips.

    `start_ms` and `end_ms` are the Unix times of the beginning and the end of the video; with `None` it ends with the
    last clip. A clip that would be too short becomes part of the clip before it. Raises `NoChapters`.
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
    """The lines for the description."""
    return "".join(f"{_clock(chapter.seconds)} {chapter.title}\n" for chapter in found)


def _append(found: list[Chapter], chapter: Chapter) -> None:
    """Add a chapter, or make it part of the last chapter if that would be too short."""
    if not found or chapter.seconds - found[-1].seconds >= MIN_SECONDS:
        found.append(chapter)
        return
    last = found[-1]
    if chapter.title not in last.title.split(" / "):
        found[-1] = last._replace(title=_title(f"{last.title} / {chapter.title}"))


def _title(title: str) -> str:
    """The title on one line, without the characters that YouTube refuses."""
    plain = " ".join("".join(c for c in title if c not in "<>" and (c.isprintable() or c.isspace())).split())
    if len(plain) > MAX_TITLE:
        plain = plain[: MAX_TITLE - 1].rstrip() + "…"
    return plain or "Untitled"


def _clock(seconds: int) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
