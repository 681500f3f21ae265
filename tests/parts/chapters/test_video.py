"""Chapters that YouTube accepts for any games, and cut lists in the timecode of a recording."""

from __future__ import annotations

import csv
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.parts.chapters.clips import Clip, clips_of
from slpstream.parts.chapters.cut_lists import MAX_EVENTS, cuts, edit_decision_list, table, timecode
from slpstream.parts.chapters.youtube import MAX_CHARACTERS, NoChapters, chapters, text
from slpstream.sets import Rules, sets_of
from tests.sets.games import CorrectedGames
from tests.sets.played_sets import game, player

START_MS = 1_800_000_000_000


def clip(start: float, end: float, title: str = "A vs B") -> Clip:
    """A clip from one second of the video to another."""
    return Clip(
        station="main",
        title=title,
        start_ms=START_MS + round(start * 1000),
        end_ms=START_MS + round(end * 1000),
        set_id="s",
        game_ids=("g",),
    )


def accepted_by_youtube(description: str, length_seconds: int) -> bool:
    """Whether a description has chapters, by YouTube's rules."""
    lines = description.splitlines()
    times: list[int] = []
    for line in lines:
        found = re.fullmatch(r"(?:(\d+):([0-5]\d)|(\d{1,2})):([0-5]\d) (\S.*)", line)
        if found is None or "<" in line or ">" in line:
            return False
        hours, minutes, alone, seconds, _ = found.groups()
        times.append(3600 * int(hours or 0) + 60 * int(minutes or alone) + int(seconds))
    ends = [*times[1:], length_seconds]
    return (
        len(description) <= 5000
        and len(times) >= 3
        and times[0] == 0
        and all(end - start >= 10 for start, end in zip(times, ends, strict=True))
    )


CLIPS = st.lists(
    st.builds(
        lambda start, length, title: clip(start, start + length, title),
        st.one_of(st.floats(-500, 40_000), st.floats(0, 60)),
        st.floats(0, 600),
        st.text(max_size=150),
    ),
    max_size=30,
)


@given(CLIPS, st.one_of(st.none(), st.integers(0, 40_000)))
def test_youtube_accepts_every_list(clips: list[Clip], length: int | None) -> None:
    end_ms = None if length is None else START_MS + length * 1000
    try:
        found = chapters(clips, START_MS, end_ms)
    except NoChapters:
        return
    seconds = length if length is not None else int(max(each.end_ms for each in clips) - START_MS) // 1000
    assert accepted_by_youtube(text(found), seconds)
    assert found == chapters(reversed(clips), START_MS, end_ms) or len({c.start_ms for c in clips}) < len(clips)


@given(st.lists(st.floats(10, 3000), min_size=3, max_size=40))
def test_long_games_have_a_chapter_each(lengths: list[float]) -> None:
    """If every game is long enough, no chapter is missing."""
    starts = [30 + sum(lengths[:place]) + 12 * place for place in range(len(lengths))]
    clips = [
        clip(at, at + length, f"game {place}") for place, (at, length) in enumerate(zip(starts, lengths, strict=True))
    ]
    found = chapters(clips, START_MS)
    assert [each.title for each in found] == ["Start", *(each.title for each in clips)]
    assert [each.seconds for each in found[1:]] == [int((each.start_ms - START_MS) // 1000) for each in clips]


def test_short_clips_are_part_of_the_one_before() -> None:
    clips = [
        clip(4, 100, "one"),
        clip(104, 109, "two"),
        clip(110, 200, "three"),
        clip(3700, 3900, "four"),
        clip(3905, 3906, "five"),
    ]
    found = chapters(clips, START_MS, START_MS + 3_908_000)
    assert text(found) == "0:00 one\n1:44 two / three\n1:01:40 four / five\n"


def test_clips_outside_of_the_video_are_left_out() -> None:
    clips = [
        clip(-300, -100, "before"),
        clip(-5, 60, "one"),
        clip(70, 90, "two"),
        clip(95, 130, "three"),
        clip(500, 600, "after"),
    ]
    assert [each.title for each in chapters(clips, START_MS, START_MS + 200_000)] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("clips", "reason"),
    [
        ([], "there are 0"),
        ([clip(100, 200)], "there are 2"),
        ([clip(0, 60), clip(61, 62), clip(63, 64)], "there are 1"),
        ([clip(100 * n, 100 * n + 50, "x" * 90) for n in range(60)], f"at most {MAX_CHARACTERS}"),
    ],
)
def test_impossible_chapters_have_a_reason(clips: list[Clip], reason: str) -> None:
    with pytest.raises(NoChapters, match=reason):
        chapters(clips, START_MS)


def test_clips_of_sets_and_games() -> None:
    ann, bob = player(0, "Ann"), player(1, "Bob")
    games = CorrectedGames()
    games.games = [
        game(0, ann, bob, winners=[0]),
        game(1, ann, bob, winners=[1]),
        game(2, ann, bob, winners=[1]),
        game(3, player(0, "Carol"), bob, winners=[]),
        game(4, player(0, "Carol"), bob),
    ]
    games.correct(round="Pools")
    sets = sets_of(games.games, games.corrections, Rules())
    began = [each.arrived_at_ms for each in games.games]
    [whole] = clips_of(sets, "main", "set")
    assert (whole.title, whole.start_ms, whole.end_ms) == ("Ann vs Bob", began[0], (began[2] or 0) + 120_000)
    assert whole.game_ids == tuple(each.game_id for each in games.games[:3])
    assert [(each.title, each.start_ms) for each in clips_of(sets, "main", "game")] == [
        ("Ann vs Bob, game 1", began[0]), ("Ann vs Bob, game 2", began[1]), ("Ann vs Bob, game 3", began[2]),
    ]  # fmt: skip


def test_edit_decision_list() -> None:
    found = cuts([clip(70.5, 90), clip(3600, 3610, "C vs\nD")], START_MS, padding_ms=2000)
    assert edit_decision_list(found, 60) == (
        "TITLE: slpstream\nFCM: NON-DROP FRAME\n\n"
        "001  AX       B     C        00:01:08:30 00:01:32:00 00:00:00:00 00:00:23:30\n* FROM CLIP NAME: A vs B\n"
        "002  AX       B     C        00:59:58:00 01:00:12:00 00:00:23:30 00:00:37:30\n* FROM CLIP NAME: C vs D\n"
    )
    assert timecode(24 * 3600 * 30 + 31, 30) == "00:00:01:01"


def test_table_of_cuts() -> None:
    found = cuts([clip(-5, 4.25, 'A, "B"')], START_MS, padding_ms=1000)
    rows = list(csv.reader(table(found).splitlines()))
    assert rows == [
        ["station", "title", "in", "out", "in_seconds", "out_seconds", "set_id", "game_ids"],
        ["main", 'A, "B"', "00:00:00.000", "00:00:05.250", "0.000", "5.250", "s", "g"],
    ]


def test_no_cell_of_the_table_is_a_formula() -> None:
    names = ("=1+1|x vs @SUM(1)", "'a vs b", "A vs -b")
    rows = list(csv.reader(table(cuts([clip(0, 4, name) for name in names], START_MS)).splitlines()))
    assert [row[1] for row in rows[1:]] == ["'=1+1|x vs @SUM(1)", "''a vs b", "A vs -b"]


@given(CLIPS, st.integers(0, 60_000), st.one_of(st.none(), st.integers(0, 40_000)), st.sampled_from([24, 30, 60]))
def test_cuts_are_inside_of_the_recording(clips: list[Clip], padding: int, length: int | None, rate: int) -> None:
    end_ms = None if length is None else START_MS + length * 1000
    found = cuts(clips, START_MS, end_ms, padding_ms=padding)
    assert all(0 <= cut.in_ms < cut.out_ms for cut in found)
    assert length is None or all(cut.out_ms <= length * 1000 for cut in found)
    assert len(list(csv.reader(table(found).splitlines()))) == len(found) + 1
    events = [line for line in edit_decision_list(found, rate).splitlines() if line[:3].isdigit()]
    assert len(events) == min(len(found), MAX_EVENTS)
    for event in events:
        times = [re.fullmatch(r"(\d\d):(\d\d):(\d\d):(\d\d)", each) for each in event.split()[4:]]
        first, last, begin, end = (
            ((int(t[1]) * 60 + int(t[2])) * 60 + int(t[3])) * rate + int(t[4]) for t in times if t is not None
        )
        assert last - first == end - begin > 0
