"""Queries find the same games by SQL over the index and by the test of one game, which `test_parse` covers."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st

from slpstream.formats.slippi.names import characters, stages
from slpstream.model.game_facts import GameFacts, facts_of, split_terms
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.find.queries.conditions import Condition
from slpstream.parts.find.queries.parse import Context, parse
from slpstream.parts.find.queries.predicate import matches
from slpstream.parts.find.queries.sql import to_sql
from slpstream.store.known_facts import KnownFacts, games_with
from slpstream.store.schema import MIGRATIONS
from slpstream.store.tables.search import stored_lines

ME = ("ANN#1",)
CONTEXT = Context(ME, UTC)
CODES = ("ANN#1", "BOB#22", "ann#1")
NAMES = ("Ann", "bob", "Ännchen", "ann bob", "zzz")
SOME_CHARACTERS = (2, 9, 0, 3, 6, 21, 8, 22)
SOME_STAGES = (31, 32, 2, 3, 8, 16, 29, 84, 39)
FIRST_MS = 1_704_000_000_000

players = st.builds(
    PlayerSummary,
    index=st.just(0),
    name=st.sampled_from(("", *NAMES)),
    tag=st.sampled_from(("", *NAMES)),
    code=st.sampled_from(("", *CODES)),
    character=st.sampled_from(SOME_CHARACTERS).map(
        lambda number: Thing(kind="character", id=number, name=characters()[number].name)
    ),
)


@st.composite
def games(draw: st.DrawFn) -> GameFacts:
    drawn = draw(st.lists(players, min_size=1, max_size=4))
    numbered = [
        PlayerSummary(index=index, name=p.name, tag=p.tag, code=p.code, character=p.character)
        for index, p in enumerate(drawn)
    ]
    stage = draw(st.sampled_from(SOME_STAGES))
    summary = GameSummary(
        place=Thing(kind="stage", id=stage, name=stages()[stage].name),
        players=numbered,
        is_teams=draw(st.booleans()),
        match_id=draw(st.sampled_from(("", "mode.ranked-1"))),
        winners=draw(st.lists(st.integers(0, len(drawn) - 1), unique=True, max_size=2)),
    )
    last_frame = draw(st.none() | st.integers(7000, 7400) | st.integers(-100, 20_000))
    return facts_of(
        summary,
        format="slippi",
        stations=("main",),
        file_name=draw(st.sampled_from(("Game_1.slp", "ann vs bob.slp", "FINAL.slp"))),
        duration_seconds=None if last_frame is None else (last_frame + 124) / 60,
        began_ms=draw(st.none() | st.integers(-10, 800).map(lambda hours: FIRST_MS + hours * 3_600_000 * 6)),
    )


WORDS = ("ann", "bob", "slp", "vs", "ANN", '"ann bob"', "game_", "nosuch", "@me", "-@me")
MATCH_UPS = ("fox>marth", "fox>", ">falco", "marth>fox", "link>mario", "marth>fox,")
VALUES = {
    "char": ("fox", "falcon", "link", '"link"', "marth,fox", "mario", "doc", "gnw", "a"),
    "stage": ("fd", "bf,fod", "yoshis", "ys", '"pokemon stadium"', "PS", "target", "island"),
    "duration": ("2m", "2m3s", "<0.5m90s", "<2m3s4f", ">7200f", ">1h", ">=2m", "1m..3m"),
    "date": ("2023", "<2024", "2024-01", ">2024-02-01", "<=2023-12-31", ">=2024-01", "2023..2024-01"),
    "is": ("ranked", "unranked", "singles", "doubles", "teams", "ranked,doubles"),
    "winner": ("ann", '"ann"', "ANN#1", "@me", "b", "nosuch", "ann,bob"),
    "loser": ("ann", '"ann"', "ANN#1", "@me", "b", "nosuch"),
    "code": ("ANN#1", "ann#1,BOB#22", "NO#1"),
    "tag": ("ann", "B", '"ann bob"'),
    "station": ("main", "other"),
    "format": ("slippi", "gci"),
    "end": ("quit", "time"),
}
TOKENS = st.sampled_from(
    [
        *WORDS,
        *MATCH_UPS,
        *("-mango", "-ann", '-"ann bob"', "-fox>marth"),
        *(f"{sign}{key}:{value}" for key, values in VALUES.items() for value in values for sign in ("", "-")),
    ]
)


_SELECT = "SELECT {} FROM search s ORDER BY listed_at_ms"


def by_sql(condition: Condition, listed: list[GameFacts]) -> list[bool]:
    database = sqlite3.connect(":memory:")
    try:
        for table in ("search", "search_terms", "search_lines", "tags"):
            created = (each for statements in MIGRATIONS for each in statements)
            database.execute(next(each for each in created if f"CREATE TABLE {table} (" in each))
        database.execute("ALTER TABLE tags RENAME COLUMN started_at_ms TO listed_at_ms")
        for each in listed:
            terms = [(one,) for one in split_terms(each.terms)]
            database.executemany("INSERT OR IGNORE INTO search_terms VALUES (?)", terms)
            assert "".join(one for (one,) in terms) == each.terms
        database.executemany(
            "INSERT INTO search VALUES (?, ?, ?, ?, ?, ?, ?)", [(i, "", *each) for i, each in enumerate(listed)]
        )
        for i, each in enumerate(listed):
            for kind, line, tag in json.loads(stored_lines(each.words)):
                database.execute("INSERT OR IGNORE INTO search_lines VALUES (?, ?)", (kind, line))
                if tag is not None:
                    database.execute("INSERT OR IGNORE INTO tags VALUES ('player', ?, ?, '')", (tag, i))
        statement, values, lines = to_sql(condition, KnownFacts(database))
        found = [bool(value) for (value,) in database.execute(_SELECT.format(statement), values)]
        if lines is not None:
            statement, values = games_with(lines)
            possible = [bool(value) for (value,) in database.execute(_SELECT.format(statement), values)]
            assert all(could or not does for could, does in zip(possible, found, strict=True))
        return found
    finally:
        database.close()


@given(st.lists(games(), min_size=1, max_size=8), st.lists(TOKENS, max_size=6).map(" ".join))
def test_index_and_single_game_agree(listed: list[GameFacts], query: str) -> None:
    condition = parse(query, CONTEXT).condition
    assert by_sql(condition, listed) == [matches(condition, each) for each in listed]
