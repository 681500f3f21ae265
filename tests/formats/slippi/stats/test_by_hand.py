"""Real games with three and more players, without a winner, and read as a crew battle, checked by hand.

Kills, openings, winners and sets were concluded from the frames alone: action states, percents, stocks and
`last_hit_by` (6 for no player). The comments have the observations and the conclusions. Players have the numbers of the
replay, counted from 0. `test_doubles` has all lost stocks, the kills and the damage of `doubles`.

A conversion ends 46 frames after its counter starts, which is in the first frame in control (0x0E to 0x18, 0x27 to
0x29, 0x2D to 0x40, 0xD4) since the last hit: that frame counts as one.
"""

from __future__ import annotations

from typing import Any

import pytest

from slpstream.formats.slippi.stats.schema import Conversion
from tests.formats.slippi.stats.games import events_of, game_of, run
from tests.project import IN_CI
from tests.replays import SHARED, replay
from tests.sets.of_replays import set_of

if not (SHARED.is_dir() or IN_CI):
    pytest.skip("the real replays are missing", allow_module_level=True)

Opening = tuple[int, int, int | None, str, list[tuple[int, int]], bool]
"""Victim, first and last frame, type, (hitter, frame) of each move, whether it killed."""


JUGGLED = [(1, 919), (1, 941), (2, 1014), (2, 1139), (1, 1210), (0, 1242), (1, 1244)]


def opening_of(conversion: Conversion) -> Opening:
    end = conversion.end_frame
    return (
        conversion.player_index,
        conversion.start_frame,
        end if isinstance(end, int) else None,
        conversion.opening_type,
        [(move.player_index, move.frame) for move in conversion.moves],
        conversion.did_kill,
    )


def winners(data: bytes) -> list[int]:
    return [winner.player_index for winner in game_of(data).end.winners]


def only_game(data: bytes) -> dict[str, Any]:
    (game,) = set_of(data)["games"]
    found: dict[str, Any] = game
    return found


def test_doubles_openings_of_the_first_stock() -> None:
    """`doubles`: team 1 is 0 and 1, team 0 is 2 and 3. All openings until the first stock is lost."""
    stats, _ = run(game_of(replay("doubles")))
    openings = [opening_of(each) for each in stats.stats().conversions if each.start_frame < 991]
    assert openings == [
        # At 3 player 3 hits the partner 2 for 14.34: no opening. At 11 player 3 hits 0 (0x58, 20.49 percent). 0 techs
        # (0xC9) and dashes (0x14) at 89; 89 + 45 = 134. At 11 no player was in a punish: a neutral win.
        (0, 11, 134, "neutral-win", [(3, 11)], False),
        # At 117 player 3 hits 1 (0x55). At 177 player 1 hits the partner 0 for 12: no opening. 1 lands (0x49), stands
        # (0x0E) at 211, and 3 hits again at 224. 1 comes down (0x43, 0x2A) and turns to walk (0x0F) at 343: 388.
        (1, 117, 388, "neutral-win", [(3, 117), (3, 224)], False),
        # At 305 player 1 hits 2 (0x58) while 3's punish of 1 runs, 117 to 388: a counter-attack. 2 misses the tech
        # (0xB7, 0xB8), gets up (0xBB) and stands at 496: 541.
        (2, 305, 541, "counter-attack", [(1, 305)], False),
        # At 556 player 0 hits 3 out of a dash grab (0xD6 to 0x4C). 3 lands (0x2A), shields (0xB6, 0xB3, 0xB5), slips
        # off the platform (0xFB), tumbles without a tech (0x26, 0xBF, 0xC4) and stands at 714: 759. `last_hit_by` is 6
        # from 642 on, so the tumble opens nothing by itself. 0 was punished last until 134: a neutral win.
        (3, 556, 759, "neutral-win", [(0, 556)], False),
        # At 732 player 3 hits 1 (0x59), still in the punish of 556 to 759: a counter-attack. 1 lands from an aerial
        # (0x47) and stands at 1200: 1245.
        (1, 732, 1245, "counter-attack", [(3, 732)], False),
        # At 740 player 3 hits 0, too, and as the first hitter makes it a counter-attack. At 841 0 takes 1.00 outside of
        # the screen (0x44 to 0x1D, x = -158): not a hit. At 855 player 2 hits 0 (0x56), who never comes back and dies
        # below (0x00) at 991: 2 hit last and gets the kill.
        (0, 740, 991, "counter-attack", [(3, 740), (2, 855)], True),
        # At 917 player 1 catches 3 (0x113) while 3's punish of 1 runs until 1245; see `test_doubles` for the moves.
        (3, 917, 1440, "counter-attack", JUGGLED, False),
    ]
    (first,) = [kill for kill in stats.stats().extra.players[2].kill_moves if kill.frame == 991]
    assert (first.player_index, first.percent) == (0, pytest.approx(56.29, abs=0.01))


def test_doubles_winner_and_set() -> None:
    """At 8742 player 2 loses the last stock; 3 lost it at 8585 and 0 at 8177. Player 1 has one left, so team 1 wins: 1
    who stayed, and 0 who was out, taken over a stock included."""
    data = replay("doubles")
    assert {index: each["stocks"] for index, each in game_of(data).end.standings.items()} == {0: 0, 1: 1, 2: 0, 3: 0}
    assert winners(data) == [0, 1]
    found = set_of(data)
    assert [(side["players"], side["score"]) for side in found["sides"]] == [([0, 1], 1), ([2, 3], 0)]
    assert only_game(data)["verdict"] == "counted"


def test_free_for_all_of_three() -> None:
    """`ffa_1p2p3p_winner_3p`: 0 and 1 walk off the platforms (0x1D at -17 and -19) and fall; no player is ever hit.

    1 dies (0x00, y = -92) at 28, 0 at 29, each with the only stock. 2 stands since -6. So 2 wins, then 0, then 1, in
    agreement with the placements; two self-destructs, no opening, no kill.
    """
    data = replay("ffa_1p2p3p_winner_3p")
    stats, events = run(game_of(data))
    assert [(e.frame, e.values["playerIndex"]) for e in events_of(events, "stock_lost")] == [(28, 1), (29, 0)]
    assert not stats.stats().conversions
    assert [(o.kill_count, o.conversion_count) for o in stats.stats().overall] == [(0, 0)] * 3
    assert [player.self_destructs for player in stats.stats().extra.players] == [1, 1, 0]
    assert winners(data) == [2]
    end = game_of(data).end.game_end
    assert [placement.position for placement in end.placements] == [1, 2, 0, -1]
    assert set_of(data)["score"] == [0, 0, 1]
    assert only_game(data)["verdict"] == "counted"


def test_team_of_two_against_one() -> None:
    """`teams_p1p2_blueVSp4_green_winner_green`: the blue players 0 and 1 walk off (0x1D at -19 and -22) and die at 27
    and 25, both with the only stock. At 25 the team still has player 0, so it is beaten at 27 only. The green player 3
    stands since -5 and wins for a team of one."""
    data = replay("teams_p1p2_blueVSp4_green_winner_green")
    stats, events = run(game_of(data))
    assert [(e.frame, e.values["playerIndex"]) for e in events_of(events, "stock_lost")] == [(25, 1), (27, 0)]
    assert [player.self_destructs for player in stats.stats().extra.players] == [1, 1, 0]
    # Percents stay 0 and `last_hit_by` is always 6, so there are no hits.
    assert not stats.stats().conversions
    assert not stats.stats().combos
    assert [player.exchanges for player in stats.stats().extra.players] == [[], [], []]
    assert [(o.kill_count, o.input_counts.total) for o in stats.stats().overall] == [(0, 1), (0, 1), (0, 0)]
    assert winners(data) == [3]
    assert [(side["players"], side["score"]) for side in set_of(data)["sides"]] == [([0, 1], 0), ([3], 1)]


def test_four_players_who_quit_immediately() -> None:
    """`crazy_name_tags`: all four appear (0x142) and nothing changes but their poses; player 0 quits at frame 12,
    within the first second. No percent, stock or `last_hit_by` changes. Three players stay, so there is no winner, and
    nothing counts."""
    data = replay("crazy_name_tags")
    stats, events = run(game_of(data))
    assert not stats.stats().conversions
    assert not events_of(events, "stock_lost")
    assert game_of(data).end.game_end.lras_initiator_index == 0
    assert winners(data) == []
    assert set_of(data)["score"] == [0, 0, 0, 0]
    assert not only_game(data)["counts"]


def test_trades_and_a_double_death() -> None:
    """`sdi_mash`: two players with the same inputs, who trade, fall, and lose the last stock in the same frame."""
    data = (SHARED / "controllers" / "legal~digital~sdi~sdi_mash.slp").read_bytes()
    stats, _ = run(game_of(data))
    openings = [opening_of(each) for each in stats.stats().conversions]
    assert [(victim, start, kind, killed) for victim, start, _, kind, _, killed in openings] == [
        # At 146 both go from 0x161 to 0x4F, each hit by the other: trades.
        (1, 146, "trade", False),
        (0, 146, "trade", False),
        # At 1801 again (0x160 to 0x5A). Both tumble (0x26) and fall. 1 dies (0x00) at 1917 and 0 at 1924, still hit
        # last by each other and never in control in between: both trades kill.
        (1, 1801, "trade", True),
        (0, 1801, "trade", True),
        # At 3392 player 1 hits 0 (0x161 to 0x5A) and is not hit: a neutral win. `last_hit_by` is 6 from 3534 on, but 0
        # lies (0xB7, 0xB8, 0xBC), shields (0xB2) and rolls (0xEA) until 3605, and stands (0x0E) for too short a time
        # before the next hit at 3645: one punish. 1 falls off alone at 3716. 0 dies at the right (0x02) at 3742.
        (0, 3392, "neutral-win", True),
    ]
    # Deaths at 2764, 2774, 3716 and twice at 4376 follow 0x23 at 0 percent with `last_hit_by` 6: self-destructs.
    assert [player.self_destructs for player in stats.stats().extra.players] == [2, 3]
    assert [(entry.kill_count, entry.conversion_count) for entry in stats.stats().overall] == [(1, 2), (2, 3)]
    # At 4376 both go from 1 stock to 0. The placements name player 1, which only breaks the tie: no player has won.
    assert [p.position for p in game_of(data).end.game_end.placements] == [1, 0, -1, -1]
    assert winners(data) == []
    assert only_game(data)["verdict"] == "no_winner"


def test_singles_as_a_crew_battle() -> None:
    """`itemExport` read with `crew`: hitters come from `last_hit_by`, which must name the same as in singles."""
    data = replay("itemExport")
    stats, _ = run(game_of(data), crew=True)
    openings = [opening_of(each) for each in stats.stats().conversions]
    assert openings[:2] == [
        # At 26 player 1 hits 0 (0x41 to 0x55, 14 percent). 0 stands at 87: 132.
        (0, 26, 132, "neutral-win", [(1, 26)], False),
        # At 68 player 0 hits 1 (0x10 to 0x51) within that punish: a counter-attack. 1 stands at 85: 130.
        (1, 68, 130, "counter-attack", [(0, 68)], False),
    ]
    assert openings[-2:] == [
        # At 1466 player 1 hits 0 in the air. At 1626 both hit each other: 0 out of a special move (0x164 to 0x58), 1
        # out of a smash (0x3C to 0x5A). 0 never lands and dies below (0x00) at 1826 with 84.93 percent, hit last by 1.
        (0, 1466, 1826, "neutral-win", [(1, 1466), (1, 1626)], True),
        # 1 techs (0xC7) and stands at 1777: 1822. 0 made this hit within the punish of 1466 to 1826: a counter-attack.
        (1, 1626, 1822, "counter-attack", [(0, 1626)], False),
    ]
    assert stats.stats().overall[1].kill_count == 1
    assert stats.stats().overall[0].kill_count == 0
    # The first hit is at 26, before any stock was lost: none was given up.
    assert [player.stocks_given_up for player in stats.stats().extra.players] == [0, 0]
    # Player 1 quits at 1867 with 4 stocks against 3: the other one wins.
    assert game_of(data).end.game_end.lras_initiator_index == 1
    assert winners(data) == [0]
