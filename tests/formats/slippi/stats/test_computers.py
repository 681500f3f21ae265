"""Single computers on synthetic frames."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from slpstream.formats.slippi.game_start import GameStartPayload
from slpstream.formats.slippi.game_time import timer_text
from slpstream.formats.slippi.names import landing_lag_frames
from slpstream.formats.slippi.stats.stadium import home_run
from slpstream.formats.slippi.stats.states import CAPTURED, CONTROL, DYING, FLAGS, HELD, HIT, LANDING, LEDGE, SHIELD
from tests.formats.slippi.stats.games import events_of
from tests.formats.slippi.stats.scenes import Scene
from tests.formats.slippi.writer import PlayerSetup, game_start

WAIT, HURT, DEAD, REBIRTH = 0x0E, 0x4B, 0x00, 0x0C
NAIR, LANDING_NAIR, FALL = 0x41, 0x46, 0x1D
FOX_LAGS = landing_lag_frames(1)
assert FOX_LAGS is not None
FOX_NAIR_LAG = FOX_LAGS[0]


@pytest.mark.parametrize(
    ("flag", "inside", "outside"),
    [
        (HIT, [0x4B, 0x5B, 0x26, 0xB9, 0xC1, 0xDF, 0xE8, 0x10A, 0x130, 0x147, 0x152], [0x4A, 0x5C, 0xDE, 0xE9, 0x125]),
        (CAPTURED, [0xDF, 0xE8, 0x10A, 0x152], [0x4B, 0x125, 0x131, 0x153]),
        (HELD, [0x4B, 0xB7, 0xC6, 0xC7, 0xCC, 0x00, 0x0A], [0x0B, 0x0E, 0xB6, 0xCD]),
        (CONTROL, [0x0E, 0x18, 0x27, 0x29, 0x2D, 0x40, 0xD4], [0x0D, 0x19, 0x26, 0x2A, 0x2C, 0x41, 0xB3, 0xD5]),
        (DYING, [0x00, 0x0A], [0x0B, 0x0C]),
        (SHIELD, [0xB2, 0xB3, 0xB5, 0xB6], [0xB1, 0xB4, 0xB7]),
        (LANDING, [0x46, 0x4A], [0x45, 0x4B]),
        (LEDGE, [0xFC, 0x107], [0xFB, 0x108]),
    ],
)
def test_flags(flag: int, inside: list[int], outside: list[int]) -> None:
    assert all(FLAGS[state] & flag for state in inside)
    assert not any(FLAGS[state] & flag for state in outside)
    assert len(FLAGS) == 1 << 16


@pytest.mark.parametrize(("waiting", "ended"), [(45, False), (46, True)])
def test_conversion_ends_after_45_frames_in_control(waiting: int, ended: bool) -> None:
    scene = Scene(first=0).frame().frame(b={"percent": 3.0, "action_state_id": HURT})
    scene.frames(100, b={"action_state_id": FALL}).frames(waiting, b={"action_state_id": WAIT})
    stats, _ = scene.run()
    assert isinstance(stats.conversions[0].end_frame, int) == ended
    assert stats.combos[0].end_frame == 1 + 46, "a combo ends without control"


def test_player_without_a_frame() -> None:
    """By default the stats continue; slippi-js stops for good."""
    scene = Scene(first=0).frames(5).frame().without(1).frames(3)
    scene.frame(b={"percent": 9.0, "action_state_id": HURT})
    stats, events = scene.run()
    assert len(stats.conversions) == 1
    assert events_of(events, "percent_changed")[0].frame == 9
    compatible, _ = scene.run(compat=True)
    assert compatible.conversions == []
    assert compatible.last_frame == stats.last_frame == 9


@pytest.mark.parametrize(
    ("landing_frames", "failed", "event_frame", "edge"),
    [
        (FOX_NAIR_LAG // 2 - 1, 0, None, (1, 0)),
        (FOX_NAIR_LAG // 2, 0, None, (0, 1)),
        (FOX_NAIR_LAG // 2 + 1, 1, FOX_NAIR_LAG // 2, (0, 1)),
        (FOX_NAIR_LAG - 1, 1, FOX_NAIR_LAG // 2, (0, 1)),
        (FOX_NAIR_LAG, 1, FOX_NAIR_LAG // 2, (0, 0)),
    ],
)
def test_failed_l_cancel_waits_for_the_edge_cancel(
    landing_frames: int, failed: int, event_frame: int | None, edge: tuple[int, int]
) -> None:
    """The event comes when the landing can no longer become an edge cancel, which would clear it."""
    scene = Scene(first=-10).frames(10, a={"action_state_id": NAIR})
    scene.frames(landing_frames, a={"action_state_id": LANDING_NAIR, "l_cancel_status": 2})
    stats, events = scene.frames(5, a={"action_state_id": FALL, "l_cancel_status": 0}).run()
    counts = stats.action_counts[0]
    assert (counts.edge_cancel_count.success, counts.edge_cancel_count.slow) == edge
    assert counts.l_cancel_count.fail == failed
    assert [event.frame for event in events_of(events, "lcancel")] == ([] if event_frame is None else [event_frame])


def test_failed_l_cancel_at_the_end_of_the_game() -> None:
    scene = Scene(first=-10).frames(10, a={"action_state_id": NAIR})
    scene.frames(2, a={"action_state_id": LANDING_NAIR, "l_cancel_status": 2})
    assert events_of(scene.run(finished=False)[1], "lcancel") == []
    (event,) = events_of(scene.run()[1], "lcancel")
    assert (event.frame, event.values["success"]) == (1, False)


@pytest.mark.parametrize(
    ("knee_bend", "jump", "dodge", "rise", "expected"),
    [
        (3, 0, 1, 0.0, (1, 0, 0)),  # wavedash
        (3, 0, 0, 0.0, (1, 0, 0)),  # a perfect one, without a frame of air dodge
        (0, 3, 2, 0.0, (0, 1, 0)),  # waveland
        (3, 5, 1, 20.0, (0, 1, 0)),  # a jump onto a platform
        (3, 5, 1, 0.05, (1, 0, 0)),  # back to the height of the knee bend
        (3, 4, 1, 20.0, (1, 0, 0)),  # a jump too short to count
        (0, 0, 20, 0.0, (0, 0, 1)),  # an air dodge that lands
    ],
)
def test_wavedashes(knee_bend: int, jump: int, dodge: int, rise: float, expected: tuple[int, int, int]) -> None:
    scene = Scene(first=0).frames(20)
    for state, count in ((0x18, knee_bend), (0x19, jump), (0xEC, dodge)):
        scene.frames(count, a={"action_state_id": state})
    stats, _ = scene.frames(3, a={"action_state_id": 0x2B, "position_y": rise}).run()
    counts = stats.action_counts[0]
    assert (counts.wavedash_count, counts.waveland_count, counts.air_dodge_count) == expected


@pytest.mark.parametrize(
    ("state", "facing", "outcome"),
    [(0xC8, 1.0, "in"), (0xC8, -1.0, "away"), (0xC9, 1.0, "away"), (0xC9, -1.0, "in"), (0xC7, 1.0, "neutral")],
)
def test_techs(state: int, facing: float, outcome: str) -> None:
    scene = Scene(first=0).frame(b={"position_x": 30.0})
    (event,) = events_of(scene.frame(a={"action_state_id": state, "facing_direction": facing}).run()[1], "tech")
    assert event.values == {"playerIndex": 0, "outcome": outcome}


def test_dead_zone_is_compared_with_64_bits() -> None:
    at_the_edge = 0.2874999940395355  # 23/80 in 32 bits, as in the replay
    scene = Scene(first=-39).frame().frame(a={"joystick_x": at_the_edge}).frame(a={"joystick_x": 0.3})
    assert scene.run()[0].overall[0].input_counts.joystick == 1


def test_inputs_count_from_frame_minus_39() -> None:
    scene = Scene(first=-41).frame(a={"physical_buttons": 0x100}).frame(a={"physical_buttons": 0x300})
    scene.frame(a={"physical_buttons": 0x700}).frame(a={"physical_l_trigger": 0.3}).frame(a={"c_stick_y": -1.0})
    counts = scene.run()[0].overall[0].input_counts
    assert (counts.buttons, counts.triggers, counts.cstick, counts.total) == (1, 1, 1, 3)


def test_live_gauge_has_a_window() -> None:
    scene = Scene(first=-39).frame(a={"physical_buttons": 0x100})
    assert scene.run()[0].extra.players[0].live_inputs_per_minute == 3600
    scene.frames(599)
    assert scene.run()[0].extra.players[0].live_inputs_per_minute == 6
    assert scene.frame().run()[0].extra.players[0].live_inputs_per_minute == 0


def test_positions() -> None:
    """Final Destination, ledge at 85.57: shield, a recovery to the ledge, and a failed one."""
    scene = Scene(first=0).frames(10, a={"action_state_id": 0xB3}).frame(a={"action_state_id": WAIT})
    for end in (0xFD, DEAD):
        scene.frame(a={"percent": 10.0 if end else 20.0, "action_state_id": HURT, "is_airborne": True})
        scene.frames(7, a={"position_x": -100.0, "action_state_id": FALL})
        lost = {} if end else {"stocks_remaining": 3}
        scene.frames(5, a={"action_state_id": end, "position_x": -88.0, **lost})
    player = scene.run()[0].extra.players[0]
    assert (player.shield_frames, player.ledge_frames, player.off_stage_frames) == (10, 5, 14 + 1)
    assert (player.recoveries.count, player.recoveries.total) == (1, 2)


def test_off_stage_is_unknown_without_the_airborne_flag() -> None:
    scene = Scene(first=-39).frames(9, a={"position_x": 90.0, "is_airborne": UNSET}, b={"is_airborne": UNSET})
    for player in scene.run()[0].extra.players:
        assert player.off_stage_frames is UNSET
        assert player.recoveries is UNSET


@pytest.mark.parametrize("count", [2, 3])
def test_player_in_a_star_ko_controls_no_stage(count: int) -> None:
    """The stock is lost only at the end of the star KO."""
    others: dict[str, Any] = {name: {"position_x": 50.0} for name in "bcd"[: count - 1]}
    scene = Scene(count, first=-39).frames(3, **others).frames(7, a={"action_state_id": 0x04})
    found = scene.run()[0].extra.players
    assert (found[0].stage_control.count, found[0].stage_control.total) == (3, 3)
    assert {player.stage_control.total for player in found[1:]} == {3 if count == 2 else 10}


def test_crew_battle() -> None:
    """Player 1 gives up two stocks at the start, and later loses one after a hit without a hitter."""
    scene = Scene(first=0).frames(3)
    for stocks in (3, 2):
        scene.frames(3, b={"stocks_remaining": stocks, "action_state_id": DEAD}).frames(
            3, b={"action_state_id": REBIRTH}
        )
    scene.frame(a={"percent": 4.0, "action_state_id": HURT, "last_hit_by": 1})
    scene.frames(60, a={"action_state_id": WAIT, "last_hit_by": 6})
    scene.frame(b={"percent": 4.0, "action_state_id": HURT}).frame(b={"stocks_remaining": 1, "action_state_id": DEAD})
    crew, plain = (scene.run(crew=crew)[0].extra.players[1] for crew in (True, False))
    assert (crew.stocks_given_up, crew.self_destructs) == (2, 1)
    assert plain.self_destructs == 2, "with two players each hit is the other's"
    assert [e.damage for e in crew.exchanges] == [4.0]


def test_free_for_all_self_inflicted_damage_is_not_credited() -> None:
    hurt = {"action_state_id": HURT}
    scene = Scene(players=3, first=0).frame().frame(a=hurt | {"percent": 10.0, "last_hit_by": 1}).frame()
    scene.frame(a={"percent": 30.0, "last_hit_by": 0}).frame().frame(a={"percent": 35.0, "last_hit_by": 2})
    stats, _ = scene.run()
    assert [(m.player_index, m.damage) for c in stats.conversions for m in c.moves] == [(1, 10.0), (2, 5.0)]
    assert [entry.total_damage for entry in stats.overall] == [0.0, 10.0, 5.0]


@pytest.mark.parametrize(
    ("timer_type", "seconds", "frame", "text"),
    [
        (2, 480, -50, "08:00.00"),
        (2, 480, 0, "08:00.00"),
        (2, 480, 1, "07:59.99"),
        (2, 480, 59, "07:59.02"),
        (2, 480, 60, "07:59.00"),
        (2, 480, 480 * 60, "00:00.00"),
        (3, 0, 0, "00:00.00"),
        (3, 0, 59, "00:00.99"),
        (3, 0, 3661, "01:01.01"),
        (0, 480, 100, "Infinite"),
        (2, 0, 100, "Unknown"),
    ],
)
def test_timer(timer_type: int, seconds: int, frame: int, text: str) -> None:
    payload = game_start(
        (3, 18, 0),
        players=[PlayerSetup(index=0, character_id=2)],
        stage_id=32,
        game_bitfield_1=0x20 | timer_type,
        starting_timer_seconds=seconds,
    )
    assert timer_text(GameStartPayload(payload).settings(), frame) == text


def test_home_run_is_never_negative() -> None:
    assert home_run(-5.0, 0).distance == home_run(-5.0, UNSET).distance == 0
    assert home_run(float("nan"), 1).distance == 0
    assert (home_run(200.0, UNSET).units, home_run(200.0, 0).units) == ("feet", "meters")
