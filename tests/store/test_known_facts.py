"""With the terms and lines of all games, a query reads fewer games and finds the same ones."""

from __future__ import annotations

from functools import partial

import pytest

from slpstream.parts.find.queries.parse import Context, parse
from slpstream.parts.find.queries.sql import to_sql
from slpstream.store import Database, Filter, GamesQuery, KnownFacts
from slpstream.store.known_facts import MakeFilter
from tests.store import samples
from tests.store.pages import every

GAMES = 60


@pytest.fixture(autouse=True)
def _many_games(database: Database) -> None:
    names = [("ann", f"bob{n % 7}") if n % 3 else ("carl\x01x ", f"dora{n}") for n in range(GAMES)]
    database.games.add([samples.entry(n, *names[n], path=f"/replays/Game_{n:02}.slp") for n in range(GAMES)])


def _filter(query: str, known: KnownFacts, *, narrowed: bool) -> Filter:
    found = Filter(*to_sql(parse(query, Context(("ANN#0",))).condition, known))
    return found if narrowed else Filter(found.sql, found.values)


def _listed(database: Database, only: MakeFilter, query: GamesQuery) -> list[str]:
    return [game.game_id for game in every("games", lambda query: database.games.page(query, (), only), query)]


@pytest.mark.parametrize("order", ["began", "ended"])
@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("bob3", 6), ("bob", 40), ("winner:bob1,bob2", 12), ("@me", 40), ("-@me", 20), ("code:BOB3#1", 6),
        ("dora30", 1), ("carl", 20), ('tag:"carl x"', 20), ("nobody", 0), ("Game_07", 1), ("game_99", 0),
        ("-nobody bob4", 6),
    ],
)  # fmt: skip
def test_games_of_few_players_are_the_games_that_match(database: Database, query: str, count: int, order: str) -> None:
    asked = GamesQuery(order="ended" if order == "ended" else "began", limit=4)
    found = _listed(database, partial(_filter, query, narrowed=True), asked)
    assert found == _listed(database, partial(_filter, query, narrowed=False), asked)
    assert len(found) == count


def test_impossible_query_reads_no_game(database: Database) -> None:
    filters: list[Filter] = []

    def only(known: KnownFacts) -> Filter:
        filters.append(_filter("stage:fd nobody", known, narrowed=True))
        return filters[0]

    assert database.games.page(GamesQuery(), (), only).games == []
    assert (filters[0].sql, filters[0].lines) == ("(FALSE)", frozenset())
