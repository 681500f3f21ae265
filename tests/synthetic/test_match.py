"""The synthetic match is plausible: values stay in the game's ranges, and all events that stats count occur.

Other tests and the demo rely on this. `tests.replays` has matches of all versions, and checks that they do not change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from msgspec import UNSET

from slpstream.formats.slippi import names
from slpstream.formats.slippi.commands import TABLES
from slpstream.formats.slippi.game_start import MAJOR_SCENE_ONLINE
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model import events
from tests.formats.slippi import name_lookups
from tests.synthetic import states
from tests.synthetic.body import FULL_SHIELD
from tests.synthetic.match import synthetic_match
from tests.synthetic.roster import NANA, POPO

DYING = range(0x0B)


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
        """The Post-Frame Updates of a player in order, from the last transmission of each frame."""
        for number in sorted(self.last_sendings):
            characters = getattr(self.last_sendings[number].entry, side)
            if characters is not UNSET and player in characters:
                yield characters[player].post


@cache
def read(**options: Any) -> Read:
    return Read(synthetic_match(**options))


@pytest.fixture(scope="module")
def match() -> Read:
    """A complete match with the default options."""
    return read()


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


def test_all_counted_events_occur(match: Read) -> None:
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
    # The last transmissions are the match without rollbacks.
    for number, frame in calm.last_sendings.items():
        assert match.last_sendings[number].entry.players == frame.entry.players
        assert match.last_sendings[number].entry.items == frame.entry.items
    guessed = [f for f in match.frames if f.entry.players != match.last_sendings[f.number].entry.players]
    assert len(guessed) > 40
    if version >= (3, 7, 0):
        assert match.one(events.GameStart).settings.game_mode == MAJOR_SCENE_ONLINE
    counted = match.one(events.Metadata).metadata["players"]["0"]["characters"]["10" if followers else "1"]
    assert counted == len(match.frames)


def test_finalized_frames_are_not_resent() -> None:
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
