"""Situations found in columns and frame by frame equal those of a brute-force search, in all shared replays.

500 random queries are spread over the replays: a few for each, and many for some small ones in which much happens. Most
of them are made of what happens in the replay, so that they find something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from slpstream.api import open_replay
from slpstream.search.situations import LiveSituations, Occurrence, parsed
from tests.project import ROOT
from tests.replays import needs_shared
from tests.search.situations import reference
from tests.search.situations.games import Game, game_of, replays_of_all_kinds
from tests.search.situations.queries import OccurringQueries, Queries

RANDOM_QUERIES = 500
DOCUMENTED = [
    match.replace("\\|", "|")
    for match in re.findall(r"^\| `(.+?)` \| .*$", (ROOT / "docs/data/situations.md").read_text("utf-8"), re.MULTILINE)
]
EXAMPLES = DOCUMENTED[: DOCUMENTED.index("hit")]
QUICK_BYTES = 300_000
OFTEN = ["kill", "upthrow -> upair", "grab -> throw", "offstage -> ledge-grab", "opponent.shield -> grab"]


BUSY = (
    "itemExport.slp",
    "realtimeTest.slp",
    "v3.16.slp",
    "v3.18.slp",
    "banned_c_stick_analog_player_1.slp",
    "handwarmers~Game_8C56C529AEAA_20231020T183249.slp",
    "nonlegal~digital~crouch_uptilt~crouch_uptilt_unnerfed.slp",
    "nonlegal~digital~sdi~sdi_tas_neutral_cardinal.slp",
)
"""Small replays that have the queries which are left when each replay has its share."""
SHARE, SHARE_OF_LARGE, PLAIN_PART = 4, 2, 4
"""How many queries each replay has, and which part of these is made without a look at the replay: at least one."""


def is_large(path: Path) -> bool:
    """Whether a search takes long."""
    return path.stat().st_size > QUICK_BYTES


def often(path: Path) -> list[str]:
    """The queries of `OFTEN` for a replay. Large replays have one of them each, in turn, since small ones have all."""
    if not is_large(path):
        return OFTEN
    large = [each for each in replays_of_all_kinds() if is_large(each)]
    return [OFTEN[large.index(path) % len(OFTEN)]]


def numbers_of_queries() -> dict[Path, int]:
    """How many random queries each replay has."""
    numbers = {path: SHARE_OF_LARGE if is_large(path) else SHARE for path in replays_of_all_kinds()}
    busy = [path for path in numbers if path.name in BUSY]
    for left in range(RANDOM_QUERIES - sum(numbers.values())):
        numbers[busy[left % len(busy)]] += 1
    return numbers


@cache
def random_queries(path: Path) -> list[str]:
    """The random queries of a replay."""
    number = numbers_of_queries()[path]
    occurring, plain = OccurringQueries(game_of(path), few_steps=is_large(path)), Queries(path.name)
    plain_number = max(1, number // PLAIN_PART) if occurring else number
    return [plain.query() if each < plain_number else occurring.query() for each in range(number)]


def live(game: Game, query: str) -> list[Occurrence]:
    search = LiveSituations(parsed(query), game.settings)
    return [*search.take(game.events), *search.finish()]


def plain(found: Iterable[Occurrence]) -> list[reference.Found]:
    return [reference.Found(each.player_index, each.opponent_index, each.frames, each.known_frame) for each in found]


def test_examples_of_the_page_are_valid() -> None:
    assert len(EXAMPLES) == 12
    for query in EXAMPLES:
        parsed(query)


def test_random_queries_are_valid() -> None:
    queries = Queries(23)
    for _ in range(RANDOM_QUERIES):
        parsed(queries.query())


def cases() -> list[object]:
    """The replays. Large ones are slow."""
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(path, id=path.name, marks=marks[is_large(path)]) for path in replays_of_all_kinds()]


@needs_shared
@pytest.mark.parametrize("path", cases())
def test_equal_to_the_reference(path: Path) -> None:
    game = game_of(path)
    in_this_game = reference.Reference(game.settings, game.final_frames())
    for query in [*often(path), *random_queries(path)]:
        expected = in_this_game.situations(query)
        assert plain(live(game, query)) == expected, query
        assert plain(game.replay.situations(query)) == expected, query


@needs_shared
def test_random_queries_find_something() -> None:
    assert sum(numbers_of_queries().values()) == RANDOM_QUERIES
    small = [path for path in replays_of_all_kinds() if path.name in BUSY or path.stat().st_size <= QUICK_BYTES]
    found = [query for path in small for query in random_queries(path) if open_replay(path).situations(query)]
    assert len(found) >= 200
    assert sum("->" in query for query in found) >= 100
