"""The synthetic match: valid in every version, reproducible, and plausible.

Other tests and the demo rely on this: options have their documented effect, values stay in the game's ranges, and
everything that stats count happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from msgspec import UNSET

from slpstream.formats.slippi import gecko, names
from slpstream.formats.slippi.commands import FIRST_FRAME, TABLES
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE
from slpstream.formats.slippi.reader import SlippiReader, Stage
from slpstream.model import events
from tests.formats.slippi import name_lookups
from tests.synthetic import states
from tests.synthetic.body import DEAD_FRAMES, FULL_SHIELD
from tests.synthetic.controls import QUIT
from tests.synthetic.match import synthetic_match
from tests.synthetic.roster import NANA, POPO
from tests.synthetic.stages import (
    BATTLEFIELD,
    DREAM_LAND,
    FINAL_DESTINATION,
    FOUNTAIN_OF_DREAMS,
    POKEMON_STADIUM,
    STAGES,
)

ERAS = [(0, 1, 0), (1, 0, 0), (2, 0, 1), (2, 2, 0), (3, 0, 0), (3, 3, 0), (3, 7, 0), (3, 13, 0), (3, 18, 0)]
DYING = range(0x0B)
FIRST_CONTROLLED_FRAME = -39


class Read:
    """The events of a replay."""

    def __init__(self, data: bytes) -> None:
        self.reader = SlippiReader()
        self.events = self.reader.feed(data)
        self.frames = [event for event in self.events if isinstance(event, events.Frame)]
        self.last_sendings = {frame.number: frame for frame in self.frames}

    def one(self, kind: type[Any]) -> Any:
        (event,) = (event for event in self.events if isinstance(event, kind))
        return event

    def all(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def posts(self, player: int, side: str = "players") -> Iterator[Any]:
        """The Post-Frame Updates of a player in order, from the last sending of each frame."""
        for number in sorted(self.last_sendings):
            characters = getattr(self.last_sendings[number].entry, side)
            if characters is not UNSET and player in characters:
                yield characters[player].post


@cache
def read(**options: Any) -> Read:
    return Read(synthetic_match(**options))


@pytest.fixture(scope="module")
def match() -> Read:
    """A whole match with the default options."""
    return read()


@pytest.mark.parametrize("version", ERAS, ids=lambda v: "{}.{}.{}".format(*v))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"items": True},
        {"followers": True},
        {"players": 4},
        {"players": 4, "teams": True},
        {"gecko": True},
        {"ended": False},
        *({"stage_id": stage_id} for stage_id in STAGES),
    ],
    ids=lambda options: ",".join(f"{k}={v}" for k, v in options.items()) or "plain",
)
def test_readable_in_every_version(version: tuple[int, int, int], options: dict[str, Any]) -> None:
    match = Read(synthetic_match(version=version, frames=250, **options))
    assert not match.all(events.Diagnostic)
    assert [frame.number for frame in match.frames] == list(range(FIRST_FRAME, FIRST_FRAME + 250)) or (
        version < (3, 0, 0) and not options.get("ended", True)
    )
    assert match.one(events.GameStart).settings.slp_version == "{}.{}.{}".format(*version)
    if options.get("ended", True):
        assert match.reader.stage is Stage.DONE
        assert match.reader.raw_length_bytes > 0
        assert match.one(events.GameEnd).reason == "game_end"
    else:
        assert match.reader.stage is Stage.EVENTS
        assert match.reader.raw_length_bytes == 0


def test_same_arguments_give_the_same_bytes() -> None:
    assert synthetic_match(frames=300, seed=5) == synthetic_match(frames=300, seed=5)
    assert synthetic_match(frames=300, seed=5) != synthetic_match(frames=300, seed=6)


def test_shorter_match_is_the_beginning_of_the_longer_one() -> None:
    short = synthetic_match(frames=300, ended=False)
    assert synthetic_match(frames=400, ended=False)[: len(short)] == short


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"rollbacks": True, "version": (2, 2, 0)}, "rollbacks"),
        ({"players": 1}, "players"),
        ({"players": 5}, "players"),
        ({"stage_id": 9}, "stage_id"),
        ({"frames": 0}, "frames"),
        ({"stocks": 0}, "stocks"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], option: str) -> None:
    with pytest.raises(ValueError, match=option):
        synthetic_match(**options)


@pytest.mark.parametrize("frames", [1, 2, 100])
def test_very_short_match_is_complete(frames: int) -> None:
    match = read(frames=frames)
    assert match.one(events.GameEnd).last_frame == FIRST_FRAME + frames - 1
    assert match.one(events.Metadata).metadata["lastFrame"] == FIRST_FRAME + frames - 1


def test_settings_have_players_and_stage(match: Read) -> None:
    settings = match.one(events.GameStart).settings
    assert settings.stage_id == BATTLEFIELD
    assert [p.character_id for p in settings.players] == [2, 9]
    assert [p.start_stocks for p in settings.players] == [4, 4]
    assert [p.connect_code for p in settings.players] == ["VIXN#101", "ALTE#202"]
    assert all(p.display_name and p.nametag and p.user_id for p in settings.players)
    assert settings.game_mode != MAJOR_SCENE_ONLINE


def test_metadata_has_names_and_characters(match: Read) -> None:
    values = match.one(events.Metadata).metadata
    count = len(match.frames)
    assert values["lastFrame"] == match.one(events.GameEnd).last_frame
    assert values["playedOn"] == "dolphin"
    assert values["players"]["0"] == {"names": {"netplay": "Vixen", "code": "VIXN#101"}, "characters": {"1": count}}
    assert values["players"]["1"]["characters"] == {"18": count}


def test_metadata_of_the_oldest_version() -> None:
    assert set(read(version=(0, 1, 0), frames=5).one(events.Metadata).metadata) == {"startAt", "playedOn"}


def test_teammates_do_not_hit_each_other() -> None:
    match = read(players=4, teams=True, frames=900)
    settings = match.one(events.GameStart).settings
    assert settings.is_teams
    assert [p.team_id for p in settings.players] == [0, 1, 0, 1]
    for player in range(4):
        hitters = {post.last_hit_by for post in match.posts(player)} - {6}
        assert all(hitter % 2 != player % 2 for hitter in hitters)


def test_match_has_a_usual_length(match: Read) -> None:
    end = match.one(events.GameEnd)
    assert 90 <= end.duration_seconds <= 150
    assert end.game_end.game_end_method == 2
    assert end.game_end.lras_initiator_index == -1


def test_match_ends_with_one_player_left(match: Read) -> None:
    end = match.one(events.GameEnd)
    last = match.frames[-1].entry.players
    loser = next(i for i, p in last.items() if p.post.stocks_remaining == 0)
    assert [w.player_index for w in end.winners] == [1 - loser]
    assert [p.position for p in end.game_end.placements] == [int(loser == 0), int(loser == 1), -1, -1]
    assert last[1 - loser].post.stocks_remaining > 0


def test_stocks_are_lost_one_by_one_and_percent_is_reset(match: Read) -> None:
    for player in (0, 1):
        lost = 0
        for before, now in pairwise(match.posts(player)):
            drop = before.stocks_remaining - now.stocks_remaining
            assert drop in (0, 1)
            lost += drop
            if drop:
                assert now.action_state_id in DYING
            if now.percent < before.percent:
                assert (before.action_state_id in DYING, now.action_state_id, now.percent) == (True, 0x0C, 0)
        assert lost >= 1


def test_players_return_after_a_death(match: Read) -> None:
    for player in (0, 1):
        runs = list(state_runs(match.posts(player)))
        for (state, length), (following, _) in pairwise(runs):
            if state in (0x00, 0x01, 0x02):
                assert (length, following) == (DEAD_FRAMES, states.REBIRTH)
            elif state == states.REBIRTH:
                assert following == states.REBIRTH_WAIT
            elif state == states.REBIRTH_WAIT:
                assert following == states.FALL


def test_players_enter_and_stand_before_go(match: Read) -> None:
    for player in (0, 1):
        posts = {post.frame: post for post in match.posts(player)}
        assert posts[FIRST_FRAME].action_state_id == states.ENTRY
        assert {posts[f].action_state_id for f in range(FIRST_FRAME, -89)} == {states.ENTRY, states.ENTRY_START}
        assert not posts[FIRST_CONTROLLED_FRAME].is_airborne
        pads = [match.last_sendings[f].entry.players[player].pre for f in range(FIRST_FRAME, FIRST_CONTROLLED_FRAME)]
        assert {(pre.joystick_x, pre.joystick_y, pre.buttons) for pre in pads} == {(0.0, 0.0, 0)}


def test_pre_frame_continues_the_last_post_frame(match: Read) -> None:
    for before, now in pairwise(match.frames):
        for player in (0, 1):
            post, pre = before.entry.players[player].post, now.entry.players[player].pre
            assert (pre.action_state_id, pre.position_x, pre.percent) == (
                post.action_state_id,
                post.position_x,
                post.percent,
            )


@pytest.mark.parametrize("stage_id", STAGES)
def test_players_stay_within_the_blast_lines(stage_id: int) -> None:
    stage = STAGES[stage_id]
    match = read(stage_id=stage_id, seed=3, frames=2500)
    left, right, top, bottom = stage.blast
    for player in (0, 1):
        for before, now in pairwise(match.posts(player)):
            if now.action_state_id in DYING or now.action_state_id == states.REBIRTH:
                continue
            # A death is noticed up to one frame's movement beyond the line.
            assert left - 15 < now.position_x < right + 15
            assert bottom - 15 < now.position_y < top + 80
            if not now.is_airborne:
                assert abs(now.position_x) <= max(stage.edge, 60.0) + 12.0
                assert now.position_y >= -15
            if before.action_state_id in DYING or states.CAPTURE_PULLED_LW <= now.action_state_id <= 0xE5:
                continue
            assert abs(now.position_x - before.position_x) < 14
            assert abs(now.position_y - before.position_y) < 16


def test_values_stay_in_their_ranges(match: Read) -> None:
    for frame in match.frames:
        for player in frame.entry.players.values():
            pre, post = player.pre, player.post
            assert all(-1 <= axis <= 1 for axis in (pre.joystick_x, pre.joystick_y, pre.c_stick_x, pre.c_stick_y))
            assert all(0 <= t <= 1 for t in (pre.trigger, pre.physical_l_trigger, pre.physical_r_trigger))
            assert pre.raw_joystick_x == round(pre.joystick_x * 80)
            assert pre.buttons & 0xFFFF == pre.physical_buttons
            assert 0 < post.shield_size <= FULL_SHIELD
            assert post.facing_direction in (-1, 1)
            assert 0 <= post.jumps_remaining <= 2
            assert post.percent < 400
            assert bool(post.hitlag_remaining) == bool(post.state_flags_2 & 0x20)
            assert bool(post.state_flags_4 & 0x02) == (post.misc_action_state > 0)


def test_everything_that_stats_count_happens(match: Read) -> None:
    seen: Counter[int] = Counter()
    cancels: Counter[int] = Counter()
    moves: set[int] = set()
    for player in (0, 1):
        seen.update(state for state, _ in state_runs(match.posts(player)))
        posts = list(match.posts(player))
        cancels.update(post.l_cancel_status for post in posts)
        moves |= {post.last_attack_landed for post in posts} - {0}
        combos = max(post.current_combo_count for post in posts)
        assert combos >= 3
    assert cancels[1] > cancels[2] > 0
    assert moves <= names.moves().keys()
    assert len(moves) >= 8
    expected_states = {
        "dash": (states.DASH,),
        "turn": (states.TURN,),
        "jump": (states.JUMP_F, states.JUMP_B),
        "double jump": (states.JUMP_AERIAL_F,),
        "shield": (states.GUARD_ON,),
        "roll": (states.ESCAPE_F, states.ESCAPE_B),
        "spot dodge": (states.ESCAPE,),
        "air dodge": (states.ESCAPE_AIR,),
        "wavedash": (states.LANDING_FALL_SPECIAL,),
        "grab": (states.CATCH,),
        "throw": (states.THROW_F, states.THROW_B, states.THROW_HI, states.THROW_LW),
        "ledge": (states.CLIFF_CATCH,),
        "tech": (states.PASSIVE, states.PASSIVE_STAND_F, states.PASSIVE_STAND_B),
        "missed tech": (states.DOWN_BOUND_U,),
        "tumble": (states.DAMAGE_FLY_N,),
        "rebirth": (states.REBIRTH,),
    }
    assert not [name for name, any_of in expected_states.items() if not sum(seen[state] for state in any_of)]


def test_hits_are_recorded_for_attacker_and_victim(match: Read) -> None:
    hits = 0
    posts = {player: list(match.posts(player)) for player in (0, 1)}
    for victim in (0, 1):
        attacker = posts[1 - victim]
        for i, (before, now) in enumerate(pairwise(posts[victim]), 1):
            if now.percent > before.percent:
                hits += 1
                assert now.last_hit_by == 1 - victim
                assert attacker[i].last_attack_landed > 0
                assert now.instance_hit_by or attacker[i].last_attack_landed == 52
    assert hits > 60


def test_instance_ids_increase(match: Read) -> None:
    max_id = 0
    for frame in match.frames:
        ids_now = sorted(p.post.instance_id for p in frame.entry.players.values())
        assert ids_now[-1] >= max_id
        assert ids_now[0] != ids_now[1]
        max_id = ids_now[-1]
    assert max_id > 800


def test_buttons_are_pressed_and_released(match: Read) -> None:
    for player in (0, 1):
        pads = [frame.entry.players[player].pre.physical_buttons for frame in match.frames]
        presses = sum(1 for before, now in pairwise(pads) if now & ~before)
        per_minute = presses / (len(pads) / 3600)
        assert 30 < per_minute < 400


def test_losing_player_quits_at_the_last_frame() -> None:
    match = read(frames=700)
    end = match.one(events.GameEnd)
    quitter = end.game_end.lras_initiator_index
    assert end.game_end.game_end_method == 7
    assert [w.player_index for w in end.winners] == [1 - quitter]
    assert match.frames[-1].entry.players[quitter].pre.physical_buttons == QUIT
    assert read(version=(1, 0, 0), frames=700).one(events.GameEnd).game_end.game_end_method == 0


def test_match_won_before_the_last_frame_is_not_quit() -> None:
    match = read(stocks=1, frames=20_000, seed=4)
    assert match.one(events.GameEnd).game_end.game_end_method == 2
    assert read(stocks=1, version=(1, 0, 0), seed=4).one(events.GameEnd).game_end.game_end_method == 3


def test_followers_die_and_return_with_their_leader() -> None:
    match = read(followers=True, seed=1)
    nana = list(match.posts(0, "followers"))
    assert {post.internal_character_id for post in nana} == {NANA.internal_id}
    assert {post.internal_character_id for post in match.posts(0)} == {POPO.internal_id}
    assert all(post.state_flags_5 & 0x08 for post in nana)
    gaps = [(a, b) for a, b in pairwise(nana) if b.frame != a.frame + 1]
    assert gaps
    for last, first in gaps:
        assert last.action_state_id in DYING
        assert first.action_state_id == states.REBIRTH
        assert match.last_sendings[first.frame].entry.players[0].post.action_state_id == states.REBIRTH
    characters = match.one(events.Metadata).metadata["players"]["0"]["characters"]
    assert characters == {"10": len(match.frames), "11": len(nana)}


def test_four_players_are_defeated_one_after_another() -> None:
    match = read(players=4, seed=2)
    end = match.one(events.GameEnd)
    assert sorted(p.position for p in end.game_end.placements) == [0, 1, 2, 3]
    gone = [p.player_index for p in end.game_end.placements if p.position in (2, 3)]
    last = match.frames[-1].number
    for player in gone:
        final = list(match.posts(player))[-1]
        assert final.stocks_remaining == 0
        assert final.frame < last
    assert [w.player_index for w in end.winners] == [p.player_index for p in end.game_end.placements if p.position == 0]


def test_items_spawn_and_expire() -> None:
    match = read(items=True, frames=2500, seed=2)
    items = [item for frame in match.frames if frame.entry.items is not UNSET for item in frame.entry.items]
    kinds = {item.type_id for item in items}
    assert 0x36 in kinds
    assert kinds - {0x36}
    assert all(name_lookups.item_name(kind) for kind in kinds)
    assert {item.owner for item in items} == {-1, 0}
    assert max(len(frame.entry.items) for frame in match.frames if frame.entry.items is not UNSET) <= 15
    by_spawn: dict[int, list[float]] = {}
    for item in items:
        by_spawn.setdefault(item.spawn_id, []).append(item.expiration_timer)
    assert all(b == a - 1 for timers in by_spawn.values() for a, b in pairwise(timers))
    assert match.one(events.GameStart).settings.item_spawn_behavior == 2
    assert read(frames=300).one(events.GameStart).settings.item_spawn_behavior == 255


def stage_events(match: Read) -> list[Any]:
    return [
        event for frame in match.frames if frame.entry.stage_events is not UNSET for event in frame.entry.stage_events
    ]


def test_platforms_of_the_fountain_move() -> None:
    moved = stage_events(read(stage_id=FOUNTAIN_OF_DREAMS, frames=900))
    assert {event.kind for event in moved} == {"fod_platform"}
    assert {event.platform for event in moved} == {0, 1}
    for platform in (0, 1):
        run = [event for event in moved if event.platform == platform]
        assert all(abs(b.height - a.height) < 0.2 for a, b in pairwise(run) if b.frame == a.frame + 1)


def test_whispy_blows_and_stops() -> None:
    winds = stage_events(read(stage_id=DREAM_LAND, frames=700))
    assert [event.kind for event in winds] == ["whispy"] * len(winds)
    assert winds[0].direction in (1, 2)
    assert winds[1].direction == 0
    assert winds[1].frame - winds[0].frame == 274


def test_stadium_transforms() -> None:
    phases = stage_events(read(stage_id=POKEMON_STADIUM, frames=700))
    assert [event.event for event in phases][:6] == [2, 3, 4, 5, 6, 0]
    assert len({event.transformation for event in phases[:6]}) == 1


@pytest.mark.parametrize("stage_id", [FOUNTAIN_OF_DREAMS, DREAM_LAND, POKEMON_STADIUM])
def test_older_versions_have_no_stage_events(stage_id: int) -> None:
    assert not stage_events(read(version=(3, 17, 0), stage_id=stage_id, frames=400))
    assert not stage_events(read(stage_id=FINAL_DESTINATION, frames=400))


def test_gecko_list_needs_version_3_3() -> None:
    match = read(gecko=True, frames=5)
    assert match.reader.gecko_list is not None
    assert {code.length_bytes for code in gecko.walk(match.reader.gecko_list)} == {32}
    assert match.reader.event_payloads is not None
    assert match.reader.event_payloads.size(0x3D) == len(match.reader.gecko_list)
    assert read(gecko=True, frames=5, version=(3, 2, 0)).reader.gecko_list is None


@pytest.mark.parametrize("version", [(3, 0, 0), (3, 6, 0), (3, 7, 0), (3, 18, 0)], ids=str)
@pytest.mark.parametrize("followers", [False, True])
def test_rollbacks_revise_guessed_frames(version: tuple[int, int, int], followers: bool) -> None:
    options = {"version": version, "frames": 1500, "items": True, "followers": followers}
    match, calm = read(rollbacks=True, **options), read(**options)
    assert not match.all(events.Diagnostic)
    revisions = Counter(frame.revision for frame in match.frames)
    assert revisions[1] > 40
    assert revisions[2] > 5
    assert set(match.last_sendings) == set(calm.last_sendings)
    # The last sendings are the match without rollbacks.
    for number, frame in calm.last_sendings.items():
        assert match.last_sendings[number].entry.players == frame.entry.players
        assert match.last_sendings[number].entry.items == frame.entry.items
    guessed = [f for f in match.frames if f.entry.players != match.last_sendings[f.number].entry.players]
    assert len(guessed) > 40
    if version >= (3, 7, 0):
        assert match.one(events.GameStart).settings.game_mode == MAJOR_SCENE_ONLINE
    counted = match.one(events.Metadata).metadata["players"]["0"]["characters"]["10" if followers else "1"]
    assert counted == len(match.frames)


def test_finalized_frames_are_not_sent_again() -> None:
    match = read(rollbacks=True, frames=3000)
    bookends = list(raw_bookends(synthetic_match(rollbacks=True, frames=3000)))
    final = None
    lags: Counter[int] = Counter()
    for bookend in bookends:
        if final is not None:
            assert bookend.latest_finalized_frame >= final
            assert bookend.frame > final
        lags[bookend.frame - bookend.latest_finalized_frame] += 1
        final = bookend.latest_finalized_frame
    assert min(lags) == 0
    assert 2 <= max(lags) <= 7
    assert len(bookends) == len(match.frames)
    throughs = [event.through for event in match.all(events.FrameFinalized)]
    assert throughs == sorted(set(throughs))


def raw_bookends(data: bytes) -> Iterator[Any]:
    reader = SlippiReader()
    reader.feed(data)
    payloads = reader.event_payloads
    assert payloads is not None
    offset = 15 + data[16] + 1
    while payloads.widths[data[offset]]:
        if data[offset] == 0x3C:
            yield TABLES[0x3C].layout(payloads.sizes[0x3C]).decode(data, offset)
        offset += payloads.widths[data[offset]]


def state_runs(posts: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Runs of equal action states in order: (action state, number of frames)."""
    state, length = -1, 0
    for post in posts:
        if post.action_state_id == state:
            length += 1
            continue
        if length:
            yield state, length
        state, length = post.action_state_id, 1
    if length:
        yield state, length
