"""Doubles, checked by hand.

`doubles` (1.2.0, Battlefield, friendly fire on): Captain Falcon (0) and Ganondorf (1) against Captain Falcon (2) and
Peach (3). The figures below were read from the Post-Frame Updates: each change of `percent`, of `stocks_remaining` and
of `last_hit_by` (6 for none), and the action state in that frame. The comments have the observations.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest

from slpstream.formats.slippi.stats.schema import PlayerExtra, Stats
from slpstream.formats.slippi.stats.states import FLAGS, HIT
from slpstream.model.events import Event
from tests.formats.slippi.stats.games import Game, events_of, game_of, run
from tests.project import IN_CI
from tests.replays import SHARED, replay

if not (SHARED.is_dir() or IN_CI):
    pytest.skip("the real replays are missing", allow_module_level=True)

TEAM = {0: 1, 1: 1, 2: 0, 3: 0}

LOST = [
    # frame, player, percent in the frame before, `last_hit_by` in that frame
    (991, 0, 56.29, 2),  # hit by 3 at 740 and by 2 at 855, dies below (state 0x00)
    (2040, 3, 101.48, 0),  # hit by 0 at 1693 and 1802
    (3824, 2, 121.52, 1),  # dies at the right (0x02)
    (4204, 3, 104.18, 0),
    (4700, 1, 145.14, 3),  # hit by 3 at 4386
    (5112, 0, 115.90, 3),  # caught by 2 at 4841, hit by 3 at 4938
    (5731, 2, 104.20, 0),
    (5921, 3, 68.93, 1),
    (6186, 0, 0.00, None),  # at 0 percent without a hitter: fell
    (7675, 2, 112.60, 0),
    (7695, 0, 32.32, None),  # no hitter: fell. The last stock: absent from 7755 on
    # At 7783 player 1 goes from 3 stocks to 2 in state 0x169, which is not dying, and player 0 from 0 to 1: player 0
    # took a stock of player 1, and neither died.
    (7950, 1, 116.22, 0),  # hit by the partner at 7656 for 17.64, who stays the hitter: a team kill
    (8177, 0, 17.00, 2),
    (8585, 3, 127.68, 1),
    (8742, 2, 21.56, 3),  # hit by the partner at 8516 for 7.00: a team kill, and the end
]

CAUGHT_AND_JUGGLED = [
    # hitter, first frame, hits, damage: player 3 from 917 to 1440
    (1, 919, 4, 3.73),  # caught at 917 (0x113, CaptureCaptain): four hits until 937 without a hitter
    (1, 941, 1, 13.65),  # released at 940: now 1 is the hitter, and the throw hits
    (2, 1014, 1, 8.00),  # the partner
    (2, 1139, 1, 6.00),  # again
    (1, 1210, 1, 7.00),
    (0, 1242, 1, 20.00),  # and two frames later the other opponent
    (1, 1244, 1, 14.00),
]


@cache
def doubles() -> tuple[Game, Stats, list[Event]]:
    game = game_of(replay("doubles"))
    stats, events = run(game)
    return game, stats.stats(), events


def extra(player: int) -> PlayerExtra:
    return doubles()[1].extra.players[player]  # type: ignore[no-any-return]


def test_lost_stocks() -> None:
    lost = events_of(doubles()[2], "stock_lost")
    seen = [(e.frame, e.values["playerIndex"], round(e.values["stock"].end_percent, 2)) for e in lost]
    assert seen == [row[:3] for row in LOST]


def test_stock_taken_by_a_partner_is_not_lost() -> None:
    _, stats, events = doubles()
    (spawned,) = [event for event in events_of(events, "player_spawned") if event.frame == 7783]
    assert spawned.values == {"playerIndex": 0, "stocksRemaining": 1}
    lives = [(stock.start_frame, stock.end_frame) for stock in stats.stocks if stock.player_index == 1]
    assert lives[:2] == [(-123, 4700), (4760, 7950)]
    assert sum(1 for stock in stats.stocks if stock.player_index == 0) == 5, "four own stocks and one of the partner"


def test_kills() -> None:
    """Kills of opponents are counted; kills of partners are only in the exchanges; the rest are self-destructs."""
    _, stats, _ = doubles()
    opponents = [(frame, player, by) for frame, player, _, by in LOST if by is not None and TEAM[by] != TEAM[player]]
    for index in range(4):
        assert [(k.frame, k.player_index) for k in extra(index).kill_moves] == [
            o[:2] for o in opponents if o[2] == index
        ]
        assert stats.overall[index].kill_count == sum(1 for o in opponents if o[2] == index)
        assert extra(index).self_destructs == sum(1 for row in LOST if row[1] == index and row[3] is None)
        for exchange in extra(index).exchanges:
            expected = sum(1 for row in LOST if row[1] == exchange.player_index and row[3] == index)
            assert exchange.kills == expected
    assert [entry.kill_count for entry in stats.overall] == [4, 3, 2, 2]
    first = stats.extra.first_blood
    assert (first.frame, first.player_index, first.last_hit_by) == (991, 0, 2)


def test_conversion_with_moves_of_both_opponents() -> None:
    stats = doubles()[1]
    (conversion,) = [c for c in stats.conversions if (c.player_index, c.start_frame) == (3, 917)]
    moves = [(m.player_index, m.frame, m.hit_count, round(m.damage, 2)) for m in conversion.moves]
    assert moves == CAUGHT_AND_JUGGLED
    # Player 3 is hit for the last time at 1244 and turns around (0x12, in control) at 1395, where the counter is 1. At
    # 1440 it is 46.
    assert (conversion.end_frame, conversion.did_kill, conversion.last_hit_by) == (1440, False, 1)
    # Player 1, who made the first move, was punished from 732 to 1245: a counter-attack.
    assert conversion.opening_type == "counter-attack"
    (own,) = [c for c in stats.conversions if (c.player_index, c.start_frame) == (1, 732)]
    assert own.end_frame == 1245


def test_hits_of_a_partner_open_no_conversion() -> None:
    """Player 3 hits 2 for 14.34 at 3, player 1 hits 0 for 12 at 177, and player 0 hits 1 for 6 at 1337."""
    conversions = doubles()[1].conversions
    starts = {(c.player_index, c.start_frame) for c in conversions}
    assert not starts & {(2, 3), (0, 177), (1, 1337)}
    assert all(TEAM[c.moves[0].player_index] != TEAM[c.player_index] for c in conversions)


def test_damage_totals() -> None:
    """Damage counted again in the simplest way: each rise of percent in a hit state, credited to `last_hit_by` in that
    frame, or after the next hit for a grab; in a thrown state, credited to the one player in a throwing state."""
    dealt: defaultdict[tuple[int, int], float] = defaultdict(float)
    percent: dict[int, float] = {}
    waiting: defaultdict[int, float] = defaultdict(float)
    for frame, _ in doubles()[0].frames:
        for victim, player in frame.entry.players.items():
            damage = player.post.percent - percent.get(victim, 0.0)
            percent[victim] = player.post.percent
            if damage and FLAGS[player.post.action_state_id] & HIT:
                waiting[victim] += damage
                if player.post.last_hit_by != 6:
                    dealt[player.post.last_hit_by, victim] += waiting.pop(victim)
            elif damage > 0 and player.post.action_state_id in range(0xEF, 0xF4):
                everyone = frame.entry.players.items()
                (thrower,) = (index for index, p in everyone if p.post.action_state_id in range(0xDB, 0xDF))
                dealt[thrower, victim] += damage
    seen = {(i, e.player_index): e.damage for i in range(4) for e in extra(i).exchanges}
    assert seen == pytest.approx(dict(dealt))
    for index, entry in enumerate(doubles()[1].overall):
        assert entry.total_damage <= sum(dealt[index, v] for v in TEAM if TEAM[v] != TEAM[index]) + 1e-6
