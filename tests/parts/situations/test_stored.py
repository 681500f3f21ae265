"""Situations in the index: stored once, listed in pages and among the highlights, and removed with their games."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from slpstream.parts.highlights.pages import page as highlights_page
from slpstream.parts.situations import stored
from slpstream.parts.situations.query import FoundSituation, SituationKey, SituationsQuery
from slpstream.parts.situations.stored import add, keep, page
from slpstream.store import FILE_NAME, Database, GameIndex, HighlightsQuery, open_database
from tests.parts.highlights.every_page import highlights
from tests.store.pages import every
from tests.store.samples import game_id, with_highlights


def found(
    game: int,
    number: int,
    name: str = "kill",
    *,
    query: str = "kill",
    station: str = "main",
    score: float | None = None,
) -> FoundSituation:
    payload = {
        "gameId": game_id(game),
        "name": name,
        "query": query,
        "number": number,
        "player": {"index": 0},
        "opponent": {"index": 1},
        "frames": [10 * number, 10 * number + 5],
        "knownFrame": 10 * number + 8,
    }
    return FoundSituation(station, payload, 1000 * number, score)


def listed(database: Database, limit: int = 200, **values: Any) -> list[tuple[int, str, int]]:
    """Game, name and number of all situations that match."""
    found = every("situations", partial(page, database), SituationsQuery(limit=limit, **values))
    documents = ((row.game_id, msgspec.json.decode(row.document)) for row in found)
    return [(int(game, 16), document["name"], document["number"]) for game, document in documents]


@pytest.mark.parametrize("limit", [1, 2, 200])
def test_situations_are_listed_once_newest_first(database: Database, limit: int) -> None:
    first = [found(0, 1), found(0, 1, "hit"), found(1, 1, station="side"), found(0, 2)]
    assert [add(database, [each]) for each in first] == [1, 1, 1, 1]
    assert add(database, [*first, found(0, 3)]) == 1, "the others are known"
    everything = [(0, "kill", 3), (0, "kill", 2), (1, "kill", 1), (0, "hit", 1), (0, "kill", 1)]
    assert listed(database, limit) == everything
    first_page = page(database, SituationsQuery(limit=limit))
    assert first_page.next is None or SituationKey.parse(str(first_page.next)) == first_page.next
    assert listed(database, limit, station="side") == [(1, "kill", 1)]
    assert listed(database, limit, name="hit") == [(0, "hit", 1)]
    assert listed(database, limit, game=game_id(0), name="kill") == [(0, "kill", 3), (0, "kill", 2), (0, "kill", 1)]
    assert listed(database, limit, name="none") == listed(database, limit, game=game_id(9)) == []


def test_situations_of_a_game_at_two_stations_belong_to_both(database: Database) -> None:
    entry = with_highlights(0, [])
    database.games.add([entry, msgspec.structs.replace(entry, station="side", path=b"/copies/0.slp")])
    add(database, [found(0, 1)])
    assert listed(database, station="main") == listed(database, station="side") == [(0, "kill", 1)]
    assert listed(database, station="elsewhere") == []


def test_changed_query_replaces_its_situations(database: Database) -> None:
    database.games.add([with_highlights(0, [])])
    add(database, [found(0, 1, score=50), found(0, 2, score=50), found(0, 1, "hit"), found(1, 1)])
    assert add(database, [found(0, 1, query="kill, air", score=60)]) == 1
    assert listed(database) == [(0, "kill", 1), (1, "kill", 1), (0, "hit", 1)]
    assert highlights(database) == [(0, 100_000)]


def test_situations_are_listed_among_logged_highlights(database: Database) -> None:
    add(database, [found(0, 1, score=70.5), found(0, 1, "hit"), found(0, 2, score=60)])
    assert highlights(database) == [], "the index does not have the game yet"
    database.games.add([with_highlights(0, [65.0]), with_highlights(1, None)])
    add(database, [found(1, 1, score=80), found(0, 2, score=60)])
    assert highlights(database) == [(1, 100_000), (0, 100_001), (0, 100_000), (0, 0)]
    assert highlights(database, order="best", limit=1) == [(1, 100_000), (0, 100_000), (0, 0), (0, 100_001)]
    shown = highlights_page(database, HighlightsQuery(order="best")).highlights[1].highlight
    assert msgspec.to_builtins(shown) == {
        "of": "situation", "situation": "kill", "playerIndex": 0, "opponentIndex": 1, "startFrame": 10, "endFrame": 18,
        "score": 70.5, "reasons": (),
    }  # fmt: skip
    database.games.add([with_highlights(0, [65.0, 90.0])])
    assert (0, 100_000) in highlights(database), "another read of the log leaves them"
    assert len(highlights(database)) == 5


def test_a_situation_can_become_a_highlight_later(database: Database) -> None:
    database.games.add([with_highlights(0, [])])
    add(database, [found(0, 1)])
    assert add(database, [found(0, 1, score=55)]) == 0
    assert highlights(database) == [(0, 100_000)]


def test_situations_are_removed_with_their_game(database: Database) -> None:
    database.games.add([with_highlights(number, []) for number in range(2)])
    add(database, [found(0, 1, score=50), found(1, 1, score=50)])
    database.games.remove_files([with_highlights(0, None).path])
    assert listed(database) == [(1, "kill", 1)]
    database.games.expire(before_ms=1 << 60, max_bytes=None)
    assert listed(database) == []
    with closing(sqlite3.connect(database.path)) as connection:
        assert connection.execute("SELECT count(*) FROM highlights").fetchone() == (0,)


@pytest.mark.trio
async def test_situations_are_stored_after_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(tmp_path / FILE_NAME)
    index = GameIndex(database, None)

    def fail(*_: object) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        monkeypatch.setattr(stored, "add", fail)
        assert await keep(index, found(0, 1))
        assert await keep(index, found(0, 2))
        assert not await keep(index, found(0, 2))
        assert "does not work" in (index.trouble or "")
        monkeypatch.setattr(stored, "add", add)
        assert await keep(index, found(0, 3))
        await index.written()
        kept = await index.read(lambda database: page(database, SituationsQuery()))
        assert kept is not None
        assert [row.found_at_ms for row in kept.situations] == [3000, 2000, 1000]
        assert "does not work" not in (index.trouble or "")
        assert not await keep(index, found(0, 3))
        nursery.cancel_scope.cancel()
