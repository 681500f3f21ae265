"""The stats of a game are the same whether the kernel takes its quiet frames or the computers see every frame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.game_start import Settings
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.formats.slippi.stats.actions import AIR_DODGE, FALL
from slpstream.formats.slippi.stats.game_state import GameState
from slpstream.formats.slippi.stats.packed_frames import PackedFrames
from slpstream.formats.slippi.stats.states import FIRST_LANDING, GRAB
from slpstream.model.events import Event, Frame, GameEnd
from tests.formats.slippi.pure import without_kernel
from tests.formats.slippi.stats.games import POST, PRE, SHORT, Game, events_in, game, game_of, run
from tests.formats.slippi.stats.scenes import NAMES, Scene
from tests.formats.slippi.stats.test_incremental import lines
from tests.project import IN_CI
from tests.replays import NOT_REPLAYS, replay, replays

END = GameEnd(10**6, "game_end", object())
OPTIONS: tuple[dict[str, bool], ...] = ({}, {"compat": True}, {"crew": True})

pytestmark = pytest.mark.skipif(kernel is None and not IN_CI, reason="the kernel is not built here")


def seen_by_computers(data: bytes) -> Game:
    """A replay all of whose frames are decoded, so that none of them is quiet."""
    with without_kernel():
        return game_of(data)


def check(data: bytes, **options: bool) -> None:
    stats, emitted = run(game_of(data), **options)
    expected, expected_events = run(seen_by_computers(data), **options)
    assert lines(emitted) == lines(expected_events)
    # Compared as text, because NaN differs from itself.
    assert repr(stats.stats()) == repr(expected.stats())
    assert repr(stats.stadium()) == repr(expected.stadium())


@pytest.mark.parametrize("path", [path for path in replays() if path.stem not in NOT_REPLAYS], ids=lambda p: p.stem)
def test_real_games(path: Path) -> None:
    check(path.read_bytes())


@pytest.mark.parametrize("options", OPTIONS[1:], ids=str)
@pytest.mark.parametrize("name", SHORT)
def test_options(name: str, options: dict[str, bool]) -> None:
    check(replay(name), **options)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("quit_3.18", 0.55),
        ("rollbacks_3.0", 0.5),
        ("doubles_3.18", 0.5),
        ("singles_0.1", 0.5),
        ("zelda_sheik_3.18", 0.6),
    ],
)
def test_most_frames_of_a_game_are_quiet(name: str, least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet: list[int] = []
    end = PackedFrames.end

    def counted(self: PackedFrames, state: GameState) -> None:
        before = state.number
        end(self, state)
        quiet.append(state.number - before)

    monkeypatch.setattr(PackedFrames, "end", counted)
    run(game(name))
    assert sum(quiet) > least * len(game(name).frames)


VALUES = [bytes(4), b"\x7f\xc0\0\0", b"\x7f\x80\0\0", b"\xff\x80\0\0", b"\x80\0\0\0", b"\xff" * 4]
"""Zero, NaN, both infinities, negative zero, and another NaN, or large integers."""


@given(
    st.sampled_from(SHORT),
    st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.integers(7, 80),
            st.one_of(st.sampled_from(VALUES), st.binary(min_size=1, max_size=2)),
        ),
        min_size=1,
        max_size=40,
    ),
)
@example("doubles_3.18", [(0.5, 22, VALUES[1])])  # damage that is NaN
@settings(max_examples=25)
def test_damaged_updates(name: str, changes: list[tuple[float, int, bytes]]) -> None:
    data = bytearray(replay(name))
    updates = [(start, end) for start, end in events_in(bytes(data)) if data[start] in (PRE, POST)]
    for where, offset, value in changes:
        start, end = updates[int(where * len(updates))]
        at = min(start + offset, end - len(value))
        data[at : at + len(value)] = value
    check(bytes(data))


# Values of each field that begin, end or count something.
STATES = [
    0x00, 0x04, 0x0E, 0x14, 0x18, 0x1A, FALL, FIRST_LANDING, 0x4B, 0x4C, 0xB2, 0xB7, 0xC8, 0xDB, GRAB, 0xDF, AIR_DODGE,
    0xEF, 0xFC, 0x155,
]  # fmt: skip
CHANGES: dict[str, list[Any]] = {
    "action_state_id": STATES,
    "action_state_counter": [0.0, 1.0, float("nan")],
    "percent": [0.0, 1.0, 12.5, 12.0, float("inf"), float("nan"), -0.0],
    "stocks_remaining": [4, 3, 5, 0],
    "position_x": [0.0, -0.0, 5.0, -20.0, 80.0, -200.0, float("nan"), float("inf")],
    "position_y": [0.0, 20.0, -30.0, float("nan")],
    "is_airborne": [True, False],
    "l_cancel_status": [0, 1, 2],
    "last_hit_by": [0, 1, 2, 6],
    "internal_character_id": [1, 7, 19, 23],
    "physical_buttons": [0, 0x100, 0x300, 0x1000, 0xF000],
    "joystick_x": [0.0, 0.2875, 0.2874, 1.0, -1.0, float("nan")],
    "c_stick_y": [0.0, 0.3, -0.3],
    "physical_l_trigger": [0.0, 0.29, 0.3, 1.0, float("nan")],
}
a_change = st.sampled_from(sorted(CHANGES)).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(CHANGES[name]))
)
# Actions of players in games.
HIT: dict[str, Any] = {"action_state_id": 0x4B, "last_hit_by": 0}
STAND, FLY = {"action_state_id": 0x0E, "is_airborne": False}, {"action_state_id": FALL, "is_airborne": True}
DEEDS: list[dict[str, Any]] = [
    *({**HIT, "percent": percent} for percent in (3.0, 9.5, 20.0)),
    HIT | {"is_airborne": True, "position_x": 150.0},
    {"percent": 30.0},
    STAND,
    STAND | {"position_x": 3.0},
    FLY,
    FLY | {"position_x": -150.0},
    {"action_state_id": 0xB7},
    {"action_state_id": 0x41},
    {"action_state_id": 0xFC},
    {"action_state_id": FIRST_LANDING, "l_cancel_status": 2},
    {"action_state_id": 0x00},
    {"action_state_id": 0x00, "stocks_remaining": 3},
]
a_step = st.tuples(
    st.integers(1, 60),
    st.integers(0, 3),
    st.one_of(st.lists(a_change, max_size=3), st.sampled_from(DEEDS).map(lambda deed: list(deed.items()))),
    st.sampled_from([""] * 8 + ["paused", "again", "gone", "skipped"]),
)


def scene_of(players: int, stage_id: int, rows: dict[str, int], steps: Iterable[Any]) -> Scene:
    """A scene in which players change, each time after some frames of standing still."""
    scene = Scene(players, first=-50, stage_id=stage_id, **rows).frames(15)
    for frames, player, changes, event in steps:
        scene.frames(frames)
        if event == "skipped":
            scene.number += 1
        counts = {"paused": 7 * (event == "paused"), "revision": int(event == "again")}
        scene.frame(**{NAMES[player % players]: dict(changes)}, **counts)  # type: ignore[arg-type]
        if event == "gone":
            scene.without(player % players)
    return scene.frames(50)


def fed(
    frames: list[Frame], options: dict[str, bool], game_settings: Settings, cuts: Iterable[int] = ()
) -> list[Event]:
    """The events of frames, with stats that continue as a copy at each cut."""
    stats = SlippiStats(game_settings, **options)
    emitted: list[Event] = []
    for at, frame in enumerate(frames):
        if at in cuts:
            left_behind, stats = stats, stats.copy()
            left_behind.feed(frame, frame.end_offset)
        emitted += stats.feed(frame, frame.end_offset)
    return [*emitted, *stats.finish(END)]


def compare(scene: Scene, options: dict[str, bool], cuts: Iterable[int] = ()) -> tuple[list[Frame], tuple[bytes, ...]]:
    """Assert that a scene has the same events if its frames can be quiet. Returns these frames and the events."""
    packed = scene.packed()
    decoded = [Frame(frame.end_offset, frame.number, frame.revision, frame.content.entry()) for frame in packed]
    expected = lines(fed(decoded, options, scene.settings))
    assert lines(fed(packed, options, scene.settings)) == expected
    assert lines(fed(packed, options, scene.settings, cuts)) == expected
    mixed = [one if at % 5 else other for at, (one, other) in enumerate(zip(packed, decoded, strict=True))]
    assert lines(fed(mixed, options, scene.settings)) == expected
    return packed, expected


def test_the_hitter_leaves_the_move_in_the_frame_of_the_hit_and_comes_back_to_it() -> None:
    scene = Scene(first=-40).frames(10).frames(5, a={"action_state_id": 0x41})
    scene.frames(9, a={"action_state_id": FALL}, b=HIT | {"percent": 5.0})
    scene.frames(9, a={"action_state_id": 0x41, "action_state_counter": 50.0}, b={"percent": 9.0})
    _, expected = compare(scene.frames(60, b=STAND), {})
    assert b'"hitCount":2' not in b"".join(expected)


def test_counters_of_a_conversion_and_a_combo() -> None:
    """The conversion ends although the player goes down again, and the combo doesn't."""
    scene = Scene(first=-40).frames(10).frames(9, b=HIT | {"percent": 5.0}).frames(9, b=STAND)
    scene.frames(60, b={"action_state_id": 0xB7}).frames(40, b=STAND).frames(20, b={"action_state_id": 0x4B})
    kinds = [line for line in compare(scene.frames(60, b=STAND), {})[1] if b"_ended" in line]
    assert [b"combo_ended" in line for line in kinds] == [False, False, True]


def test_somebody_hits_a_player_who_is_damaged_already() -> None:
    scene = Scene(3, first=-40).frames(10).frames(9, b=HIT | {"percent": 5.0}).frames(60, b=FLY)
    scene.frames(9, b=HIT | {"last_hit_by": 6, "action_state_id": 0x4C}).frames(9, b={"last_hit_by": 2})
    compare(scene.frames(60, b=STAND), {})


def test_a_star_ko_takes_the_stock_at_its_end() -> None:
    scene = Scene(first=-40).frames(10, a={"position_x": 30.0}).frames(90, b={"action_state_id": 0x04})
    compare(scene.frames(60, b={"stocks_remaining": 3}).frames(60, b=STAND), {})


@given(
    st.integers(1, 4),
    st.sampled_from([32, 8, 0]),
    st.sampled_from([{}, {"is_teams": 1}, {"game_bitfield_1": 0x02}]),
    st.lists(a_step, max_size=25),
    st.sampled_from(OPTIONS),
    st.sets(st.integers(0, 400), max_size=6),
)
@settings(max_examples=100)
@example(2, 32, {}, [(3, 0, [("action_state_id", 0x4B), ("percent", 12.5)], ""), (9, 1, [], "")], {}, set())
def test_scenes(
    players: int, stage_id: int, rows: dict[str, int], steps: list[Any], options: dict[str, bool], cuts: set[int]
) -> None:
    scene = scene_of(players, stage_id, rows, steps)
    packed, expected = compare(scene, options, cuts)
    silent = SlippiStats(scene.settings, **options, updates=False)
    for frame in packed:
        silent.feed(frame, frame.end_offset)
    assert lines(silent.finish(END))[-1] == expected[-1]
