"""The odds of a game: from frames up to then only, the same live and finished, and absent where they mean nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
import pytest

from slpstream.api import messages, open_replay
from slpstream.formats.registry import of_name
from slpstream.game.pipeline import Pipeline
from slpstream.parts.odds.game_odds import FRAMES_PER_SECOND, Conditions, GameOdds, Post, begin_odds
from slpstream.parts.odds.log_odds import TOPICS, LogOdds
from slpstream.parts.odds.model import packaged_model
from slpstream.parts.odds.played_games import NotCounted, game_of
from slpstream.parts.odds.turning_points import TurningPoint, turning_points
from slpstream.parts.services import Span, Swing
from tests.formats.slippi.pure import without_kernel
from tests.parts.odds.plain_odds import plain_odds
from tests.replays import replay_path
from tests.synthetic.match import synthetic_match


@cache
def match() -> bytes:
    return synthetic_match(seed=5)


@cache
def rollbacks() -> bytes:
    return synthetic_match(seed=5, frames=2500, rollbacks=True)


def odds_of(data: bytes, cuts: list[int], *, ended: bool = True) -> LogOdds:
    """The odds of a file that arrives in pieces."""
    odds = LogOdds(packaged_model())
    pipeline = Pipeline(of_name("game.slp").new_reader("game.slp"), ("finalized",))
    batches = [pipeline.feed(data[a:b]) for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    for batch in [*batches, *([pipeline.finish()] if ended else [])]:
        for message in batch.messages("finalized"):
            if message.topic in TOPICS:
                odds.take(message)
    return odds


def lines(odds: LogOdds) -> bytes:
    """Everything about the odds, as bytes."""
    return msgspec.json.encode([odds.players, odds.points, odds.turning_points()])


def finished(path: Path) -> LogOdds:
    odds = LogOdds(packaged_model())
    for message in messages(path, frames="finalized", topics=TOPICS):
        odds.take(message)
    return odds


@pytest.mark.parametrize("game", [match, rollbacks])
def test_live_and_finished_odds_are_equal(game: Callable[[], bytes], tmp_path: Path) -> None:
    path, data = tmp_path / "game.slp", game()
    path.write_bytes(data)
    whole = lines(finished(path))
    rng = random.Random(1)
    cuts = sorted(rng.sample(range(len(data)), 400))
    assert lines(odds_of(data, cuts)) == whole
    with without_kernel():
        assert lines(odds_of(data, cuts[::40])) == whole


def test_odds_depend_only_on_frames_up_to_then() -> None:
    whole = odds_of(rollbacks(), []).points
    frames = [point.frame for point in whole]
    assert frames == sorted(set(frames))
    assert len(frames) > 70
    rng = random.Random(2)
    lengths = set()
    for cut in rng.sample(range(len(rollbacks())), 12):
        points = odds_of(rollbacks()[:cut], [], ended=False).points
        assert points == whole[: len(points)]
        lengths.add(len(points))
    assert len(lengths) > 6


def test_odds_come_twice_a_second_and_with_each_lost_stock() -> None:
    odds = odds_of(match(), [])
    lost = [point for point in odds.points if point.lost_by]
    regular = [point.frame for point in odds.points if point.frame % 30 == 0]
    assert regular == list(range(0, odds.points[-1].frame, 30))
    assert len(lost) == 6
    assert {point.frame for point in odds.points} == {*regular, *(point.frame for point in lost)}
    assert [point.odds for point in odds.points if min(point.state[:2]) == 0] == [0.0]


def test_percent_of_a_lost_stock_does_not_count() -> None:
    points = odds_of(match(), []).points
    before = next(i for i, point in enumerate(points) if point.lost_by == (1,))
    assert points[before - 1].state.opponent_percent > 20
    assert points[before].state.opponent_percent == 0
    assert points[before].state.dealt >= points[before - 1].state.dealt


def test_rows_for_fitting_are_those_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "game.slp"
    path.write_bytes(match())
    whole = [point.state for point in odds_of(match(), []).points if point.frame % FRAMES_PER_SECOND == 0]
    assert list(game_of(open_replay(path)).states()) == [state for state in whole if min(state[:2]) > 0]


def test_turning_points_are_the_largest_swings(tmp_path: Path) -> None:
    path = tmp_path / "game.slp"
    path.write_bytes(match())
    odds = finished(path)
    chances = plain_odds(path)
    assert [(point.frame, point.odds) for point in odds.points] == [
        (point.frame, chances[point.frame]) for point in odds.points
    ]
    expected = []
    for conversion in open_replay(path).stats().conversions:
        assert isinstance(conversion.end_frame, int)
        gained = chances[conversion.end_frame] - chances[conversion.start_frame - 1]
        expected.append((round(gained if conversion.player_index == 1 else -gained, 4), conversion.start_frame))
    turns = odds.turning_points()
    assert [(turn.swing, turn.start_frame) for turn in turns] == sorted(expected, reverse=True)[:5]
    assert {turn.of for turn in turns} == {"conversion"}
    assert any(turn.did_kill for turn in turns)
    assert all(turn.damage > 0 and turn.moves for turn in turns)


def test_stock_without_a_conversion_is_a_turning_point() -> None:
    def swing_of(span: Span) -> Swing | None:
        return Swing(0.5, 0.7) if span == Span(3, 45, 45) else None

    assert turning_points([1, 3], swing_of, [], [(45, 1), (60, 2), (90, 3)]) == [
        TurningPoint("stock", 3, 1, 45, 45, before=0.5, after=0.7, did_kill=True, damage=0, moves=0)
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("doubles_3.18", "a game of teams"),
        ("free_for_all_3.18", "not a game of two players"),
        ("home_run_3.18", "not played for stocks"),
        ("stamina_3.18", "not played for stocks"),
        ("time_mode_3.18", "not played for stocks"),
        ("sudden_death_3.12", "played with a handicap"),
    ],
)
def test_games_without_odds(name: str, reason: str) -> None:
    path = replay_path(name)
    odds = finished(path)
    assert (odds.without_odds, odds.points, odds.turning_points()) == (reason, [], [])
    with pytest.raises(NotCounted):
        game_of(open_replay(path))


@pytest.mark.parametrize(
    ("name", "values"),
    [("handicap", (9, 5)), ("startStocks", (4, 3)), ("offenseRatio", (1.0, 1.1)), ("damageStart", (0, 50))],
)
def test_handicaps_have_no_odds(name: str, values: tuple[float, float]) -> None:
    players: list[dict[str, float]] = [{"playerIndex": i, "startStocks": 4, "handicap": 9} for i in range(2)]
    settings = {"inGameMode": 0x20, "isTeams": False, "players": players}
    assert msgspec.convert(settings, Conditions).without_odds == ""
    for player, value in zip(players, values, strict=True):
        player[name] = value
    assert msgspec.convert(settings, Conditions).without_odds == "played with a handicap"


def test_stock_counts_as_lost_for_a_dying_player() -> None:
    """In a star KO, the game takes the stock two seconds after the player has begun to die."""
    players = [{"playerIndex": i, "startStocks": 4} for i in (0, 3)]
    odds = begin_odds({"inGameMode": 0x20, "isTeams": False, "players": players})
    assert odds is not None
    odds.take(0, {0: Post(0.0, 4), 3: Post(0.0, 4)})
    odds.take(10, {0: Post(0.0, 4), 3: Post(90.0, 4)})
    hit, star = odds.swing(Span(0, 5, 20)), odds.swing(Span(0, 5, 20, dying={3}))
    odds.take(60, {0: Post(0.0, 4), 3: Post(90.0, 4)})
    odds.take(151, {0: Post(0.0, 4), 3: Post(90.0, 3)})
    lost = odds.swing(Span(0, 5, 151))
    assert hit is not None
    assert lost is not None
    assert lost.after > hit.after
    assert star == lost
    assert odds.swing(Span(0, 5, 151, dying={3})) == lost, "the stock is lost already"
    assert odds.swing(Span(3, 5, 151)) == Swing(*(round(1 - chance, 4) for chance in lost))
    assert odds.swing(Span(0, 0, 151)) is odds.swing(Span(1, 5, 151)) is None


def test_impossible_values_have_no_odds() -> None:
    players = [{"playerIndex": i, "startStocks": 4} for i in (0, 3)]
    setup = msgspec.convert({"inGameMode": 0x20, "isTeams": False, "players": players}, Conditions)
    odds = GameOdds(packaged_model(), setup)
    for impossible in (Post(math.nan, 4), Post(10.0, 5), Post(-1.0, 4), Post(1e9, 4), Post(None, 4), Post(10.0, None)):
        assert odds.take(0, {0: Post(0.0, 4), 3: impossible}) is None
    assert odds.take(0, {0: Post(0.0, 4)}) is None
    assert odds.take(0, {0: Post(0.0, 4), 3: Post(0.0, 4)}) is not None
