"""Situations found during a game equal those of the finished file, for any split of its bytes."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from slpstream.api import open_replay
from slpstream.formats.registry import of_name
from slpstream.formats.slippi.commands import POST_FRAME
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.model.events import FrameFinalized, GameStart, final_frames, first_of
from slpstream.model.fields import F32
from slpstream.model.messages import LogMessage, content_of
from slpstream.model.occurrence import Occurrence
from slpstream.parts.situations.replay import find_situations
from slpstream.parts.situations.search import LiveSituations, frame_of, parsed
from tests.formats.slippi.writer import sizes_at
from tests.marks import slow
from tests.parts.situations.games import game_of
from tests.replays import replay_path
from tests.synthetic.match import synthetic_match

ALWAYS = ("x:>-9999", "y:<9999", "own.percent:>=0")
"""Conditions that begin to hold for a player as soon as the numbers are known."""
QUERIES = (
    "kill",
    "hit",
    "upthrow -> upair, kill",
    "offstage -> ledge-grab",
    "!shield, for:30f -> opponent.kill",
    "air",
)


def as_read(
    data: bytes, cuts: Sequence[int], queries: Sequence[str], *, copies: bool = False
) -> list[list[Occurrence]]:
    """The situations of each query in a file that is read in pieces; with `copies`, each piece is taken by a copy."""
    reader = of_name("game.slp").new_reader("game.slp")
    searches: list[LiveSituations] = []
    found: list[list[Occurrence]] = [[] for _ in queries]
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        events = reader.feed(data[begin:end])
        start = first_of(GameStart, events)
        if start is not None:
            searches = [LiveSituations(parsed(query), start.settings) for query in queries]
        for number, before in enumerate(searches):
            search = searches[number] = before.copy() if copies else before
            found[number] += search.take(events)
            if copies:
                list(before.take(events))  # must not change the copy
                before.finish()
    rest = reader.finish()
    for number, search in enumerate(searches):
        found[number] += [*search.take(rest), *search.finish()]
    return found


def as_logged(data: bytes, query: str) -> list[Occurrence]:
    """The situations in the log messages of a file."""
    reader = of_name("game.slp").new_reader("game.slp")
    events = [*reader.feed(data), *reader.finish()]
    start = first_of(GameStart, events)
    assert start is not None
    search = LiveSituations(parsed(query), start.settings)
    found: list[Occurrence] = []
    for frame in final_frames(events):
        kind, content, number = content_of(frame)
        found += search.feed(frame_of(LogMessage(kind, start.game_id, "finalized", 0, 0, content, number)))
    return [*found, *search.finish()]


@pytest.mark.parametrize("bound", ["2.05", "<=2.05", ">=2.05", "2.05..2.06"])
def test_time_with_decimals_is_exact(bound: str, tmp_path: Path) -> None:
    path = tmp_path / "game.slp"
    path.write_bytes(synthetic_match(frames=400))
    query = f"port1: time:{bound}, frame:123"
    assert [found.frames for found in open_replay(path).situations(query)] == [(123,)]
    assert as_logged(path.read_bytes(), query) == open_replay(path).situations(query)


def with_first_floats(data: bytes, value: float) -> bytes:
    """The match with this value in each float field of the first Post-Frame Update."""
    sizes = sizes_at((3, 18, 0))
    position = HEADER_BYTES + 1 + data[HEADER_BYTES + 1]  # after the Event Payloads
    while data[position] != POST_FRAME.command:
        position += 1 + sizes[data[position]]
    changed = bytearray(data)
    for field in POST_FRAME.fields:
        if field.kind is F32:
            struct.pack_into(">f", changed, position + field.offset, value)
    return bytes(changed)


@pytest.mark.parametrize(
    "query",
    [
        *ALWAYS,
        "!(x:>-9999)",
        "percent:<9999, frame:<-100",
        "onstage",
        "!offstage",
        "platform | air | ground",
        "starts:special | idle",
        "attacking -> hit",
    ],
)
def test_nan_and_infinity_have_the_same_meaning_in_a_log(query: str, tmp_path: Path) -> None:
    path = tmp_path / "game.slp"
    match = synthetic_match(frames=400)
    path.write_bytes(with_first_floats(match, math.nan))
    expected = open_replay(path).situations(query)
    assert as_logged(path.read_bytes(), query) == expected
    if query in ALWAYS:
        assert [found.frames for found in expected] == [(-123,), (-122,)]


@pytest.mark.parametrize(
    "path",
    [
        *map(replay_path, ("rollbacks_items_3.7", "doubles_3.15", "in_progress_2.2", "stadium_3.19")),
        *slow(*(path for path in map(replay_path, ("rollbackFrameTest", "test", "incomplete")) if path.is_file())),
    ],
    ids=lambda path: path.stem,
)
def test_splits_do_not_change_the_situations(path: Path) -> None:
    data = path.read_bytes()
    expected = [open_replay(path).situations(query) for query in QUERIES]
    for copies in (False, True):
        cuts = sorted(random.Random(copies).sample(range(1, len(data)), 100))
        assert as_read(data, cuts, QUERIES, copies=copies) == expected


def test_byte_by_byte() -> None:
    path = replay_path("time_mode_2.0")
    query = "hit | attacking | dead"
    expected = open_replay(path).situations(query)
    assert expected
    data = path.read_bytes()
    assert as_read(data, range(1, len(data)), [query]) == [expected]


def test_a_kill_is_known_as_soon_as_the_opponent_dies() -> None:
    game = game_of(replay_path("full_match_3.18"))
    kills = game.replay.situations("kill")
    deaths = {each.frames[0] for each in game.replay.situations("dead")}
    search = LiveSituations(parsed("kill"), game.settings)
    seen: list[Occurrence] = []
    for event in game.events:
        for found in search.take([event]):
            seen.append(found)
            assert found.known_frame in deaths
            assert isinstance(event, FrameFinalized)
            assert found.known_frame >= event.through - 1
            assert seen == kills[: len(seen)]
    assert len(seen) >= 5


@pytest.mark.parts("odds")
@pytest.mark.parametrize("query", ["hit, swing:>1", "kill, swing:>5", "air -> opponent.kill, within:any, swing<-5"])
def test_swings_are_the_same_without_columns(query: str, tmp_path: Path) -> None:
    rollbacks = tmp_path / "rollbacks.slp"
    rollbacks.write_bytes(synthetic_match(seed=3, frames=3000, rollbacks=True))
    found = 0
    for path in (rollbacks, replay_path("full_match_3.18"), replay_path("doubles_3.18")):
        replay = open_replay(path)
        reader = of_name("game.slp").new_reader("game.slp")
        batches = [reader.feed(path.read_bytes()), reader.finish()]
        expected = replay.situations(query)
        assert find_situations(query, replay.settings, None, batches) == expected
        found += len(expected)
    assert found > 2


@pytest.mark.parts("odds")
def test_star_ko_swings_the_odds_as_soon_as_it_is_known() -> None:
    replay = open_replay(replay_path("full_match_3.18"))
    post = replay.frames.players[1].post
    begin = next(row for row, state in enumerate(post.action_state_id) if state == 4)
    number = int(replay.frames.number[begin])
    assert post.stocks_remaining[begin] == post.stocks_remaining[begin - 1]
    assert number in [each.known_frame for each in replay.situations("kill, swing:>5")]
