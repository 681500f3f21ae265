"""Highlights in the index: pages in both orders, filters, and games that come, change and go."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slpstream.model.highlight import Highlight
from slpstream.store import FILE_NAME, Database, Entry, HighlightKey, HighlightsQuery, open_database
from tests.store import samples

Shown = list[tuple[int, int]]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(tmp_path / FILE_NAME)) as database:
        yield database


def highlight(score: float, end_frame: int = 100) -> Highlight:
    return Highlight(
        of="conversion",
        player_index=0,
        opponent_index=1,
        start_frame=end_frame - 50,
        end_frame=end_frame,
        score=score,
        reasons=("damage",),
    )


def played(number: int, scores: list[float] | None, station: str = "main") -> Entry:
    """An entry whose game has highlights with these scores."""
    entry = samples.entry(number, station=station)
    assert entry.record is not None
    found = None if scores is None else [highlight(score, 100 * place) for place, score in enumerate(scores)]
    return msgspec.structs.replace(entry, record=msgspec.structs.replace(entry.record, highlights=found))


def listed(database: Database, limit: int = 100, game_ids: list[str] | None = None, **values: Any) -> Shown:
    """Game number and highlight number of all highlights that match, page after page."""
    found: Shown = []
    query = HighlightsQuery(limit=limit, **values)
    while True:
        page = database.highlights(query, game_ids)
        assert len(page.highlights) <= limit
        found += [(int(row.game_id, 16), row.number) for row in page.highlights]
        if page.next is None:
            return found
        assert HighlightKey.parse(str(page.next)) == page.next
        query = msgspec.structs.replace(query, cursor=page.next)


def test_orders_and_filters(database: Database) -> None:
    database.put([played(0, [50, 90]), played(1, [70.5], "side"), played(2, []), played(3, None), played(4, [60])])
    newest = [(4, 0), (1, 0), (0, 1), (0, 0)]
    assert listed(database) == newest
    assert listed(database, order="best") == [(0, 1), (1, 0), (4, 0), (0, 0)]
    assert listed(database, station="main") == [(4, 0), (0, 1), (0, 0)]
    assert listed(database, station="main", order="best") == [(0, 1), (4, 0), (0, 0)]
    assert listed(database, station="none") == listed(database, game_ids=[]) == []
    assert listed(database, game_ids=[f"{0:032x}", f"{1:032x}"], order="best") == [(0, 1), (1, 0), (0, 0)]
    [row] = database.highlights(HighlightsQuery(station="side")).highlights
    assert row.highlight == highlight(70.5, 0)


def test_none_are_told_from_unknown_ones(database: Database) -> None:
    database.put([played(0, []), played(1, None)])
    details = [database.game(f"{number:032x}").details for number in (0, 1)]  # type: ignore[union-attr]
    assert [each.highlights for each in details] == ["[]", None]
    database.keep_highlights(f"{1:032x}", [highlight(80)])
    assert listed(database) == [(1, 0)]
    database.keep_highlights(f"{9:032x}", [highlight(80)])
    assert listed(database) == [(1, 0)], "that game is not in the index"


def test_later_reads_of_a_game(database: Database) -> None:
    database.put([played(0, [50])])
    database.put([played(0, [50, 80])])
    assert listed(database) == [(0, 1), (0, 0)]
    database.put([played(0, None)])
    assert listed(database) == [(0, 1), (0, 0)], "a read without stats does not take them away"


def test_highlights_go_with_their_game(database: Database) -> None:
    database.put([played(0, [50]), played(1, [60])])
    database.remove([played(0, None).path])
    assert listed(database) == [(1, 0)]
    database.expire(before_ms=1 << 60, max_bytes=None)
    assert listed(database) == []
    with closing(sqlite3.connect(database.path)) as connection:
        assert connection.execute("SELECT count(*) FROM highlights").fetchone() == (0,)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.integers(50, 60).map(float), max_size=4), st.sampled_from(["a", "b"])), max_size=6),
    st.integers(1, 4),
    st.sampled_from(["newest", "best"]),
    st.sampled_from([None, "a"]),
)
def test_pages_have_each_highlight_once(
    games: list[tuple[list[float], str]], limit: int, order: str, station: str | None
) -> None:
    with TemporaryDirectory() as folder, closing(open_database(Path(folder) / FILE_NAME)) as database:
        database.put([played(number, scores, station) for number, (scores, station) in enumerate(games)])
        expected = [
            (score if order == "best" else 0, number, place)
            for number, (scores, of) in enumerate(games)
            for place, score in enumerate(scores)
            if station in (None, of)
        ]
        values: dict[str, Any] = {} if station is None else {"station": station}
        assert listed(database, limit, order=order, **values) == [key[1:] for key in sorted(expected, reverse=True)]
