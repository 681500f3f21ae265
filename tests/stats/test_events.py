"""Live events: each follows the final frame that caused it, in the order of the computers, and none is taken back:
all that was announced is in the last stats, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from slpstream.model.events import Event, GameEvent, StatsUpdate
from slpstream.stats import SlippiStats
from slpstream.stats.schema import Stats
from tests.shared_data import needs_shared, replay, replays
from tests.stats.games import Game, events_of, frame_of, game_of, run
from tests.synthetic.match import synthetic_match

ORDER = (
    ("rollback",),
    ("game_paused",),
    ("transformed",),
    ("player_spawned", "stock_lost"),
    ("percent_changed",),
    ("conversion_started", "conversion_ended"),
    ("combo_started", "combo_extended", "combo_ended"),
    ("lcancel", "tech", "ledge_grab"),
)
RANK = {kind: rank for rank, kinds in enumerate(ORDER) for kind in kinds}

TWO_PLAYERS = ["ics2", "v2.0", "sheik_vs_ics_yoshis", "v0.1"]
GAMES = ["synthetic", "four", *(TWO_PLAYERS if replays() else ())]


@cache
def game(name: str) -> Game:
    if name == "synthetic":
        return game_of(synthetic_match(seed=3, frames=2000, rollbacks=True))
    if name == "four":
        return game_of(synthetic_match(seed=4, frames=1500, players=4, teams=True))
    return game_of(replay(name))


@cache
def ran(name: str) -> tuple[Stats, list[Event]]:
    stats, said = run(game(name))
    return stats.stats(), said


@pytest.mark.parametrize("name", GAMES)
def test_each_follows_its_frame(name: str) -> None:
    stats = SlippiStats(game(name).settings)
    for frame, end_offset in game(name).frames:
        said = stats.feed(frame, end_offset)
        assert {event.end_offset for event in said} <= {end_offset}
        events = [event for event in said if isinstance(event, GameEvent)]
        updates = [event for event in said if isinstance(event, StatsUpdate)]
        assert {event.frame for event in said} <= {frame.number}  # type: ignore[attr-defined]
        assert bool(updates) == ((frame.number + 124) % 60 == 0)
        assert said == [*events, *updates]
        ranks = [(RANK[event.kind], event.values.get("playerIndex", -1)) for event in events]
        assert ranks == sorted(ranks)
    end = stats.finish(game(name).end)
    assert isinstance(end[-1], StatsUpdate)
    assert all(isinstance(event, GameEvent) for event in end[:-1])


def count(said: list[Event], kind: str, **wanted: Any) -> Counter[int]:
    """Events of a kind by player index."""
    return Counter(
        event.values["playerIndex"]
        for event in events_of(said, kind)
        if all(event.values[key] == value for key, value in wanted.items())
    )


def sums(pairs: Iterable[tuple[int, int]]) -> Counter[int]:
    return Counter({index: number for index, number in pairs if number})


@pytest.mark.parametrize("name", GAMES)
def test_what_was_announced_is_what_the_stats_say(name: str) -> None:
    stats, said = ran(name)
    counts = stats.action_counts
    index = [c.player_index for c in counts]

    def of(values: Iterable[int]) -> Counter[int]:
        return sums(zip(index, values, strict=True))

    assert count(said, "lcancel", success=True) == of(c.l_cancel_count.success for c in counts)
    assert count(said, "lcancel", success=False) == of(c.l_cancel_count.fail for c in counts)
    assert count(said, "ledge_grab") == of(c.ledgegrab_count for c in counts)
    for outcome, member in (("in", "in_"), ("away", "away"), ("neutral", "neutral"), ("missed", "fail")):
        assert count(said, "tech", outcome=outcome) == of(getattr(c.ground_tech_count, member) for c in counts)
    assert count(said, "tech", outcome="wall") == of(c.wall_tech_count.success for c in counts)
    assert count(said, "tech", outcome="wall_missed") == of(c.wall_tech_count.fail for c in counts)
    assert count(said, "player_spawned") == Counter(stock.player_index for stock in stats.stocks)
    ended = [event.values["stock"] for event in events_of(said, "stock_lost")]
    assert sorted(map(repr, ended)) == sorted(repr(stock) for stock in stats.stocks if stock.end_frame)
    assert [e.values["combo"] for e in events_of(said, "combo_ended")] == in_order_of_end(stats.combos)
    assert count(said, "combo_started") == Counter(combo.player_index for combo in stats.combos)
    assert count(said, "conversion_started") == Counter(c.player_index for c in stats.conversions)


@pytest.mark.parametrize("name", GAMES)
def test_opening_types_are_known_at_once(name: str) -> None:
    stats, said = ran(name)
    ended = events_of(said, "conversion_ended")
    assert {event.values["conversion"].opening_type for event in ended} <= {"neutral-win", "counter-attack", "trade"}
    final = in_order_of_end(stats.conversions)
    announced = [event.values["conversion"] for event in ended]
    differing = [(a, f) for a, f in zip(announced, final, strict=True) if a != f]
    for announcement, conversion in differing:
        assert_punish_that_never_ended(stats, announcement, conversion)


def in_order_of_end(punishes: Iterable[Any]) -> list[Any]:
    closed = [p for p in punishes if isinstance(p.end_frame, int)]
    return sorted(closed, key=lambda p: (p.end_frame, p.player_index))


def assert_punish_that_never_ended(stats: Stats, announced: Any, final: Any) -> None:
    """The one case: the attacker's own, earlier punish still runs at the game's end."""
    assert (announced.opening_type, final.opening_type) == ("counter-attack", "neutral-win")
    attacker = final.moves[0].player_index
    assert any(
        other.player_index == attacker and other.start_frame < final.start_frame and other.end_frame is not None
        for other in stats.conversions
        if not isinstance(other.end_frame, int)
    )


@needs_shared
@pytest.mark.parametrize("name", ["v0.1", "sheik_vs_ics_yoshis"])
def test_the_one_case(name: str) -> None:
    """Games that stop where a conversion has just ended while the attacker's own one still runs."""
    found = 0
    running: dict[int, int] = {}
    ended = {(e.frame, e.values["playerIndex"]) for e in events_of(ran(name)[1], "conversion_ended")}
    for event in events_of(ran(name)[1], "conversion_started", "conversion_ended"):
        victim = event.values["playerIndex"]
        conversion = event.values["conversion"]
        if event.kind == "conversion_started":
            running[victim] = frame_of(event)
            continue
        del running[victim]
        attacker = conversion.last_hit_by
        if (event.frame, attacker) in ended or not conversion.moves:
            continue
        if running.get(attacker, frame_of(event)) < conversion.start_frame:
            assert conversion.opening_type == "counter-attack"
            frames = [(frame, offset) for frame, offset in game(name).frames if frame.number <= frame_of(event)]
            stats, _ = run(game(name)._replace(frames=frames))
            final = next(c for c in stats.stats().conversions if (c.player_index, c.end_frame) == (victim, event.frame))
            assert_punish_that_never_ended(stats.stats(), conversion, final)
            found += 1
    assert found >= 3


@needs_shared
def test_pauses() -> None:
    stats, said = run(game_of(replay("gnwActions")))
    paused = [(event.frame, event.values["frames"]) for event in events_of(said, "game_paused")]
    assert paused == [(593, 285), (1046, 192), (1159, 805)]
    assert (stats.stats().extra.pauses, stats.stats().extra.paused_frames) == (3, 1282)


@needs_shared
def test_rollbacks() -> None:
    stats, said = run(game_of(replay("ics2")))
    assert len(events_of(said, "rollback")) == 11
    assert all(event.values["sent"] >= 2 for event in events_of(said, "rollback"))
    rollbacks = stats.stats().extra.rollbacks
    assert rollbacks.frames == 11
    assert rollbacks.longest == max(event.values["frames"] for event in events_of(said, "rollback"))


@needs_shared
def test_zelda_becomes_sheik() -> None:
    stats, said = run(game_of(replay("transform")))
    (event,) = events_of(said, "transformed")
    characters = {p.player_index: p.characters for p in stats.stats().extra.players}[event.values["playerIndex"]]
    assert [c.internal_character_id for c in characters] == [
        event.values["fromInternalCharacterId"],
        event.values["internalCharacterId"],
    ]
    assert {event.values["fromInternalCharacterId"], event.values["internalCharacterId"]} == {7, 19}
    assert characters[0].frames == frame_of(event) + 123
    assert sum(c.frames for c in characters) == len(game_of(replay("transform")).frames)
