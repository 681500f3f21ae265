"""Situations found in columns and frame by frame equal those of a brute-force search.

Most of the random queries are made from events of the replay, so that they find something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from slpstream.api import open_replay
from slpstream.model.errors import FormatError
from slpstream.model.occurrence import Occurrence
from slpstream.parts.situations.search import LiveSituations, parsed
from tests.parts.situations import reference
from tests.parts.situations.games import Game, game_of
from tests.parts.situations.queries import OccurringQueries, Queries
from tests.project import ROOT
from tests.replays import NOT_REPLAYS, SHARED, real_replays, replay_path

RANDOM_QUERIES = 500
DOCUMENTED = [
    match.replace("\\|", "|")
    for match in re.findall(r"^\| `(.+?)` \| .*$", (ROOT / "docs/data/situations.md").read_text("utf-8"), re.MULTILINE)
]
EXAMPLES = DOCUMENTED[DOCUMENTED.index("kill") : DOCUMENTED.index("kill, time:<30") + 1]
OFTEN = ["kill", "upthrow -> upair", "grab -> throw", "offstage -> ledge-grab", "opponent.shield -> grab"]
OWN = (
    *("singles_0.1", "doubles_1.2", "free_for_all_3.13", "items_3.18", "ice_climbers_rollbacks_3.18", "stadium_3.19"),
    *("zelda_sheik_3.18", "sudden_death_3.12", "lost_game_end_3.18", "time_mode_3.18", "singles_3.8", "names_3.9"),
)
RANDOM_QUERIES, MIN_FOUND, MIN_FOUND_OF_SEVERAL_STEPS = 16, 120, 50
"""Number of random queries per own replay, and minimum numbers of queries that find something."""
MAX_QUICK_BYTES = 300_000

OWN_PATHS = [*map(replay_path, OWN)]


def is_large(path: Path) -> bool:
    """Whether a search takes long."""
    return path.stat().st_size > MAX_QUICK_BYTES


@cache
def random_queries(path: Path) -> list[str]:
    """The random queries of a replay. A quarter of them, at least one, does not depend on the replay."""
    number = RANDOM_QUERIES if path in OWN_PATHS else 2 if is_large(path) else 4
    occurring, plain = OccurringQueries(game_of(path)), Queries(path.name)
    plain_number = max(1, number // 4) if occurring else number
    return [plain.query() if each < plain_number else occurring.query() for each in range(number)]


def real_games() -> list[Path]:
    """All real replays of games that are readable."""
    found: list[Path] = []
    for path in [*real_replays(), *sorted((SHARED / "controllers").glob("*.slp"))]:
        if path.stem in NOT_REPLAYS:
            continue
        try:
            open_replay(path)
        except FormatError:
            continue
        found.append(path)
    return found


def live(game: Game, query: str) -> list[Occurrence]:
    search = LiveSituations(parsed(query), game.settings)
    return [*search.take(game.events), *search.finish()]


def plain(found: Iterable[Occurrence]) -> list[reference.Found]:
    return [reference.Found(each.player_index, each.opponent_index, each.frames, each.known_frame) for each in found]


def test_examples_of_the_page_are_valid() -> None:
    assert len(EXAMPLES) == 12
    for query in EXAMPLES:
        parsed(query)


def check(path: Path) -> None:
    game = game_of(path)
    in_this_game = reference.Reference(game.settings, game.final_frames())
    for query in [*OFTEN, *random_queries(path)]:
        expected = in_this_game.situations(query)
        assert plain(live(game, query)) == expected, query
        assert plain(game.replay.situations(query)) == expected, query


@pytest.mark.parametrize("path", OWN_PATHS, ids=lambda path: path.stem)
def test_equal_to_the_reference(path: Path) -> None:
    check(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", real_games(), ids=lambda path: path.name)
def test_real_games_equal_the_reference(path: Path) -> None:
    check(path)


def test_random_queries_find_something() -> None:
    found = [query for path in OWN_PATHS for query in random_queries(path) if open_replay(path).situations(query)]
    assert len(found) >= MIN_FOUND
    assert sum("->" in query for query in found) >= MIN_FOUND_OF_SEVERAL_STEPS
