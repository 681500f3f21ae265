"""Live events: each follows the final frame that caused it, in the order of the computers, and is never taken back.

The last stats have exactly the announced values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.schema import Stats
from slpstream.model.events import Event, Frame, GameEvent, StatsUpdate
from tests.formats.slippi.stats.games import Game, events_of, frame_of, game, game_of, result_of, run
from tests.replays import existing, replay
from tests.synthetic.match import synthetic_match
from tests.synthetic.roster import MARTH, ZELDA

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

GAMES = existing("rollbacks_3.18", "singles_3.8", "doubles_3.18", "ics2", "v2.0", "sheik_vs_ics_yoshis", "v0.1")


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
def test_opening_types_are_known_when_conversions_end(name: str) -> None:
    stats, emitted = result_of(name)
    ended = events_of(emitted, "conversion_ended")
    assert {event.values["conversion"].opening_type for event in ended} <= {"neutral-win", "counter-attack", "trade"}
    final = in_order_of_end(stats.conversions)
    announced = [event.values["conversion"] for event in ended]
    differing = [(a, f) for a, f in zip(announced, final, strict=True) if a != f]
    for announcement, conversion in differing:
        assert_never_ended(stats, announcement, conversion)


@pytest.mark.parametrize("name", GAMES)
def test_ended_entries_stay_unchanged(name: str) -> None:
    """Ended entries stay unchanged, except for the opening type of a conversion."""
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


def test_opening_type_of_a_conversion_that_never_ends() -> None:
    """Games cut where a conversion has just ended while one on the attacker is still open."""
    found = 0
    for name in existing("ranked_3.14", "rollbacks_items_3.7", "short_pre_frames_3.17", "stadium_3.19", "v0.1"):
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
                stats = run(Game(game(name).settings, frames, game(name).end))[0].stats()
                final = next(c for c in stats.conversions if (c.player_index, c.end_frame) == (victim, event.frame))
                assert_never_ended(stats, conversion, final)
                found += 1
    assert found >= 3


def test_pauses() -> None:
    stats, emitted = result_of("pauses_3.18")
    paused = [(event.frame, event.values["frames"]) for event in events_of(emitted, "game_paused")]
    assert paused == [(50, 90), (51, 200), (250, 30)]
    assert (stats.extra.pauses, stats.extra.paused_frames) == (3, 320)


def test_rollbacks() -> None:
    sent = Counter(event.number for event in SlippiReader().feed(replay("rollbacks_3.18")) if isinstance(event, Frame))
    stats, emitted = result_of("rollbacks_3.18")
    rollbacks = events_of(emitted, "rollback")
    assert {event.frame: event.values["sent"] for event in rollbacks} == {n: sent[n] for n in sent if sent[n] > 1}
    assert stats.extra.rollbacks.frames == len(rollbacks) > 10
    assert stats.extra.rollbacks.longest == max(event.values["frames"] for event in rollbacks)


def test_zelda_becomes_sheik() -> None:
    played = game_of(synthetic_match(seed=1, frames=900, characters=(ZELDA, MARTH)))
    stats, emitted = run(played)
    first, *others = events_of(emitted, "transformed")
    assert (first.values["fromInternalCharacterId"], first.values["internalCharacterId"]) == (19, 7)
    zelda, sheik = stats.stats().extra.players[0].characters
    assert (zelda.internal_character_id, sheik.internal_character_id) == (19, 7)
    assert not others
    assert zelda.frames == frame_of(first) + 123
    assert zelda.frames + sheik.frames == len(played.frames)
