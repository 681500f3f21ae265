"""Situations found in columns and frame by frame equal those of a brute-force search, in all shared replays.

500 random queries and those of the documentation are spread over the replays, several for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from slpstream.search.situations import LiveSituations, Occurrence, parsed
from tests.project import ROOT
from tests.search.situations import reference
from tests.search.situations.games import Game, game_of, replays_of_all_kinds
from tests.search.situations.queries import Queries
from tests.shared_data import needs_shared

RANDOM_QUERIES = 500
DOCUMENTED = [
    match.replace("\\|", "|")
    for match in re.findall(r"^\| `(.+?)` \| .*$", (ROOT / "docs/data/situations.md").read_text("utf-8"), re.MULTILINE)
]
EXAMPLES = DOCUMENTED[: DOCUMENTED.index("hit")]
QUICK_BYTES = 1_000_000
OFTEN = ["kill", "upthrow -> upair", "grab -> throw", "offstage -> ledge-grab", "opponent.shield -> grab"]


def random_queries() -> list[str]:
    queries = Queries(23)
    return [queries.query() for _ in range(RANDOM_QUERIES)]


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
    for query in random_queries():
        parsed(query)


def cases() -> list[object]:
    """The replays with their numbers. Large ones are slow."""
    marks = {True: [pytest.mark.slow], False: []}
    return [
        pytest.param(number, path, id=path.name, marks=marks[path.stat().st_size > QUICK_BYTES])
        for number, path in enumerate(replays_of_all_kinds())
    ]


@needs_shared
@pytest.mark.parametrize(("number", "path"), cases())
def test_equal_to_the_reference(number: int, path: Path) -> None:
    game = game_of(path)
    frames = game.final_frames()
    share = random_queries()[number :: len(replays_of_all_kinds())]
    assert share
    for query in [*OFTEN, *share]:
        expected = reference.situations(query, game.settings, frames)
        assert plain(live(game, query)) == expected, query
        assert plain(game.replay.situations(query)) == expected, query
