"""Live events: each follows the final frame that caused it, in the order of the computers, and is never taken back.

The last stats have everything that was announced, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from slpstream.model.events import Event, GameEvent, StatsUpdate
from slpstream.stats import SlippiStats
from slpstream.stats.schema import Stats
from tests.replays import needs_shared, replay, replays
from tests.stats.games import Game, events_of, frame_of, game, game_of, result_of, run

ORDER = (
    ("rollback",),
    ("game_paused",),
    ("transformed",),
    ("player_spawned", "stock_lost"),
    ("percent_changed",),
    ("conversion_started", "conversion_ended"),
    ("combo_started", "combo_extended", "combo_ended"),
    ("lcancel", "tech", "ledge_grab"),
    ("highlight",),
)
RANK = {kind: rank for rank, kinds in enumerate(ORDER) for kind in kinds}

TWO_PLAYERS = ["ics2", "v2.0", "sheik_vs_ics_yoshis", "v0.1"]
GAMES = ["long", "four", *(TWO_PLAYERS if replays() else ())]


@pytest.mark.parametrize("name", GAMES)
def test_events_follow_their_frame(name: str) -> None:
    stats = SlippiStats(game(name).settings)
    for frame, end_offset in game(name).frames:
        emitted = stats.feed(frame, end_offset)
        assert {event.end_offset for event in emitted} <= {end_offset}
        events = [event for event in emitted if isinstance(event, GameEvent)]
        updates = [event for event in emitted if isinstance(event, StatsUpdate)]
        assert {event.frame for event in emitted} <= {frame.number}  # type: ignore[attr-defined]
        assert bool(updates) == ((frame.number + 124) % 60 == 0)
        assert emitted == [*events, *updates]
        ranks = [(RANK[event.kind], event.values.get("playerIndex", -1)) for event in events]
        assert ranks == sorted(ranks)
    end = stats.finish(game(name).end)
    assert isinstance(end[-1], StatsUpdate)
    assert all(isinstance(event, GameEvent) for event in end[:-1])


def count(emitted: list[Event], kind: str, **values: Any) -> Counter[int]:
    """Number of events of a kind with the given values, by player index."""
    return Counter(
        event.values["playerIndex"]
        for event in events_of(emitted, kind)
        if all(event.values[key] == value for key, value in values.items())
    )


def sums(pairs: Iterable[tuple[int, int]]) -> Counter[int]:
    return Counter({index: number for index, number in pairs if number})


@pytest.mark.parametrize("name", GAMES)
def test_announced_events_match_the_stats(name: str) -> None:
    stats, emitted = result_of(name)
    counts = stats.action_counts
    index = [c.player_index for c in counts]

    def of(values: Iterable[int]) -> Counter[int]:
        return sums(zip(index, values, strict=True))

    assert count(emitted, "lcancel", success=True) == of(c.l_cancel_count.success for c in counts)
    assert count(emitted, "lcancel", success=False) == of(c.l_cancel_count.fail for c in counts)
    assert count(emitted, "ledge_grab") == of(c.ledgegrab_count for c in counts)
    for outcome, member in (("in", "in_"), ("away", "away"), ("neutral", "neutral"), ("missed", "fail")):
        assert count(emitted, "tech", outcome=outcome) == of(getattr(c.ground_tech_count, member) for c in counts)
    assert count(emitted, "tech", outcome="wall") == of(c.wall_tech_count.success for c in counts)
    assert count(emitted, "tech", outcome="wall_missed") == of(c.wall_tech_count.fail for c in counts)
    assert count(emitted, "player_spawned") == Counter(stock.player_index for stock in stats.stocks)
    ended = [event.values["stock"] for event in events_of(emitted, "stock_lost")]
    assert sorted(map(repr, ended)) == sorted(repr(stock) for stock in stats.stocks if stock.end_frame)
    assert [e.values["combo"] for e in events_of(emitted, "combo_ended")] == in_order_of_end(stats.combos)
    assert count(emitted, "combo_started") == Counter(combo.player_index for combo in stats.combos)
    assert count(emitted, "conversion_started") == Counter(c.player_index for c in stats.conversions)


@pytest.mark.parametrize("name", GAMES)
def test_opening_types_are_known_at_once(name: str) -> None:
    stats, emitted = result_of(name)
    ended = events_of(emitted, "conversion_ended")
    assert {event.values["conversion"].opening_type for event in ended} <= {"neutral-win", "counter-attack", "trade"}
    final = in_order_of_end(stats.conversions)
    announced = [event.values["conversion"] for event in ended]
    differing = [(a, f) for a, f in zip(announced, final, strict=True) if a != f]
    for announcement, conversion in differing:
        assert_never_ended(stats, announcement, conversion)


@pytest.mark.parametrize("name", GAMES)
def test_stats_messages_take_nothing_back(name: str) -> None:
    """What has ended stays as it was first shown, but for the opening type of a conversion."""
    last, emitted = result_of(name)
    for update in (event.stats for event in emitted if isinstance(event, StatsUpdate)):
        for member in ("conversions", "combos", "stocks"):
            known = {(final.player_index, final.start_frame): final for final in getattr(last, member)}
            for entry in getattr(update, member):
                final = known[entry.player_index, entry.start_frame]
                if isinstance(entry.end_frame, int) and member == "conversions":
                    assert msgspec.structs.replace(entry, opening_type=final.opening_type) == final
                elif isinstance(entry.end_frame, int):
                    assert entry == final


def in_order_of_end(punishes: Iterable[Any]) -> list[Any]:
    closed = [p for p in punishes if isinstance(p.end_frame, int)]
    return sorted(closed, key=lambda p: (p.end_frame, p.player_index))


def assert_never_ended(stats: Stats, announced: Any, final: Any) -> None:
    """Assert the one exception: an earlier conversion on the attacker is still open at the end of the game."""
    assert (announced.opening_type, final.opening_type) == ("counter-attack", "neutral-win")
    attacker = final.moves[0].player_index
    assert any(
        other.player_index == attacker and other.start_frame < final.start_frame and other.end_frame is not None
        for other in stats.conversions
        if not isinstance(other.end_frame, int)
    )


@needs_shared
@pytest.mark.parametrize("name", ["v0.1", "sheik_vs_ics_yoshis"])
def test_opening_type_of_a_conversion_that_never_ends(name: str) -> None:
    """Games cut where a conversion has just ended while one on the attacker is still open."""
    found = 0
    open_since: dict[int, int] = {}
    ended = {(e.frame, e.values["playerIndex"]) for e in events_of(result_of(name)[1], "conversion_ended")}
    for event in events_of(result_of(name)[1], "conversion_started", "conversion_ended"):
        victim = event.values["playerIndex"]
        conversion = event.values["conversion"]
        if event.kind == "conversion_started":
            open_since[victim] = frame_of(event)
            continue
        del open_since[victim]
        attacker = conversion.last_hit_by
        if (event.frame, attacker) in ended or not conversion.moves:
            continue
        if open_since.get(attacker, frame_of(event)) < conversion.start_frame:
            assert conversion.opening_type == "counter-attack"
            frames = [(frame, offset) for frame, offset in game(name).frames if frame.number <= frame_of(event)]
            stats, _ = run(Game(game(name).settings, frames, game(name).end))
            final = next(c for c in stats.stats().conversions if (c.player_index, c.end_frame) == (victim, event.frame))
            assert_never_ended(stats.stats(), conversion, final)
            found += 1
    assert found >= 3


@needs_shared
def test_pauses() -> None:
    stats, emitted = run(game_of(replay("gnwActions")))
    paused = [(event.frame, event.values["frames"]) for event in events_of(emitted, "game_paused")]
    assert paused == [(593, 285), (1046, 192), (1159, 805)]
    assert (stats.stats().extra.pauses, stats.stats().extra.paused_frames) == (3, 1282)


@needs_shared
def test_rollbacks() -> None:
    stats, emitted = run(game_of(replay("ics2")))
    assert len(events_of(emitted, "rollback")) == 11
    assert all(event.values["sent"] >= 2 for event in events_of(emitted, "rollback"))
    rollbacks = stats.stats().extra.rollbacks
    assert rollbacks.frames == 11
    assert rollbacks.longest == max(event.values["frames"] for event in events_of(emitted, "rollback"))


@needs_shared
def test_zelda_becomes_sheik() -> None:
    stats, emitted = run(game_of(replay("transform")))
    (event,) = events_of(emitted, "transformed")
    characters = {p.player_index: p.characters for p in stats.stats().extra.players}[event.values["playerIndex"]]
    assert [c.internal_character_id for c in characters] == [
        event.values["fromInternalCharacterId"],
        event.values["internalCharacterId"],
    ]
    assert {event.values["fromInternalCharacterId"], event.values["internalCharacterId"]} == {7, 19}
    assert characters[0].frames == frame_of(event) + 123
    assert sum(c.frames for c in characters) == len(game_of(replay("transform")).frames)
