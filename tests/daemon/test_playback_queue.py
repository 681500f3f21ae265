"""The moments of a set that a Playback Dolphin shows: a situation within another highlight is not shown twice."""

from __future__ import annotations

from typing import Literal

from slpstream.daemon.moments import distinct
from slpstream.model.highlight import Highlight
from slpstream.store import HighlightRow


def row(number: int, first: int, last: int, *, game: str = "a") -> HighlightRow:
    of: Literal["conversion", "situation"] = "situation" if number >= 100_000 else "conversion"
    moment = Highlight(of=of, player_index=0, opponent_index=1, start_frame=first, end_frame=last, score=50, reasons=())
    return HighlightRow(game, number, 0, moment)


def test_situations_within_other_highlights_are_left_out() -> None:
    conversion, inner, beyond = row(0, 100, 200), row(100_000, 150, 200), row(100_001, 150, 201)
    assert distinct([inner, conversion, beyond]) == [conversion, beyond]
    elsewhere = row(100_000, 150, 200, game="b")
    assert distinct([conversion, elsewhere]) == [conversion, elsewhere]


def test_of_situations_with_the_same_frames_the_first_is_shown() -> None:
    first, second, same = row(100_000, 5, 9), row(100_001, 5, 9), row(0, 5, 9)
    assert distinct([second, first]) == [first]
    assert distinct([second, first, same]) == [same]


def test_conversions_are_all_shown() -> None:
    rows = [row(0, 100, 200), row(1, 150, 180), row(2, 150, 180)]
    assert distinct(rows) == rows
