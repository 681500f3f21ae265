"""Highlights in the index: pages in both orders, filters, and games that are added, changed and removed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.parts.highlights.pages import everything, page, page_by_swing
from slpstream.parts.services import Swing
from slpstream.store import FILE_NAME, Database, HighlightKey, HighlightsQuery, open_database
from tests.parts.highlights.every_page import highlights
from tests.store import samples
from tests.store.samples import with_highlights


def test_orders_and_filters(database: Database) -> None:
    database.games.add(
        [
            with_highlights(0, [50, 90]),
            with_highlights(1, [70.5], "side"),
            with_highlights(2, []),
            with_highlights(3, None),
            with_highlights(4, [60]),
        ]
    )
    newest = [(4, 0), (1, 0), (0, 1), (0, 0)]
    assert highlights(database) == newest
    assert highlights(database, order="best") == [(0, 1), (1, 0), (4, 0), (0, 0)]
    assert highlights(database, station="main") == [(4, 0), (0, 1), (0, 0)]
    assert highlights(database, station="main", order="best") == [(0, 1), (4, 0), (0, 0)]
    assert highlights(database, station="none") == highlights(database, game_ids=[]) == []
    assert highlights(database, game_ids=[f"{0:032x}", f"{1:032x}"], order="best") == [(0, 1), (1, 0), (0, 0)]
    first = page(database, HighlightsQuery(limit=1))
    assert first.next is not None
    assert HighlightKey.parse(str(first.next)) == first.next
    [row] = page(database, HighlightsQuery(station="side")).highlights
    assert row.highlight == samples.highlight(70.5, 0)


def test_order_by_swing(database: Database) -> None:
    database.games.add([with_highlights(0, [50, 90, 60]), with_highlights(1, [70.5, 40])])
    first, second = f"{0:032x}", f"{1:032x}"
    swings = {(first, 0): Swing(0.5, 0.7), (first, 1): Swing(0.5, 0.4), (second, 0): Swing(0.1, 0.3)}
    query = HighlightsQuery(order="swing", limit=2)
    found: list[tuple[str, int]] = []
    for count in (2, 2, 1):
        rows = page(database, everything(query), [first, second]).highlights
        shown = page_by_swing(query, rows, swings)
        found += [(row.game_id, row.number) for row in shown.highlights]
        assert len(shown.highlights) == count
        if shown.next is not None:
            query = msgspec.structs.replace(query, cursor=HighlightKey.parse(str(shown.next)))
    assert shown.next is None
    assert found == [(second, 0), (first, 0), (first, 1), (first, 2), (second, 1)]


def test_empty_highlights_differ_from_unknown_ones(database: Database) -> None:
    database.games.add([with_highlights(0, []), with_highlights(1, None)])
    details = [database.games.get(f"{number:032x}").details for number in (0, 1)]  # type: ignore[union-attr]
    assert [each.highlights for each in details] == ["[]", None]
    database.highlights.keep(f"{1:032x}", [samples.highlight(80)])
    assert highlights(database) == [(1, 0)]
    database.highlights.keep(f"{9:032x}", [samples.highlight(80)])
    assert highlights(database) == [(1, 0)], "that game is not in the index"


def test_later_reads_of_a_game(database: Database) -> None:
    database.games.add([with_highlights(0, [50])])
    database.games.add([with_highlights(0, [50, 80])])
    assert highlights(database) == [(0, 1), (0, 0)]
    database.games.add([with_highlights(0, None)])
    assert highlights(database) == [(0, 1), (0, 0)], "a read without stats does not take them away"


def test_highlights_are_removed_with_their_game(database: Database) -> None:
    database.games.add([with_highlights(0, [50]), with_highlights(1, [60])])
    database.games.remove_files([with_highlights(0, None).path])
    assert highlights(database) == [(1, 0)]
    database.games.expire(before_ms=1 << 60, max_bytes=None)
    assert highlights(database) == []
    with closing(sqlite3.connect(database.path)) as connection:
        assert connection.execute("SELECT count(*) FROM highlights").fetchone() == (0,)


@pytest.mark.slow
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
        database.games.add([with_highlights(number, scores, station) for number, (scores, station) in enumerate(games)])
        expected = [
            (score if order == "best" else 0, number, place)
            for number, (scores, of) in enumerate(games)
            for place, score in enumerate(scores)
            if station in (None, of)
        ]
        values: dict[str, Any] = {} if station is None else {"station": station}
        assert highlights(database, limit, order=order, **values) == [key[1:] for key in sorted(expected, reverse=True)]
