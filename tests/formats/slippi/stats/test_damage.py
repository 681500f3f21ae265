"""Damage that players deal and damage that they take add up, with the exceptions that `stats.hits` names."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from slpstream.formats.slippi.stats.crediting import is_magnifying_glass
from slpstream.formats.slippi.stats.states import DYING, FLAGS, HIT, THROWN
from slpstream.model.events import StatsUpdate
from tests.formats.slippi.stats.games import Game, events_of, game, result_of, run
from tests.formats.slippi.stats.scenes import Scene
from tests.replays import NOT_REPLAYS, existing, replays

GRABBED, THROW, DAMAGED, WAITING = 0xE3, 0xDD, 0x4F, 0x0E
BACK_THROW, UP_THROW, LASER = 54, 55, 18
OFF_SCREEN = 0x80
EXCEPTIONS = {
    *NOT_REPLAYS,
    "stamina_3.18",
    "slippi-js__gameModeTest__Lightning",
    "slippi-js__timer_increasing",
}
"""In the written game of stamina mode, the percent is 0 again before the stock is lost. In `Lightning` a player is hit
by an own explosion. In `timer_increasing` one player is alone in a stage with targets, which hits three times for 1
percent, with hitstun; `last_hit_by` names no player."""
UNKNOWN_HITTERS = {"go-slippi__4-player-offline": {(2, 3281), (2, 6524)}}
"""Damage of lasers among more than two players, by player and frame. The players do not flinch and `last_hit_by` names
no player, so the damage is credited to no one. In both frames, Fox's `last_attack_landed` becomes that of a laser."""


class Taken:
    """The damage that each player took, the uncredited part of it, and healing, by player and frame."""

    def __init__(self, game: Game, unknown_hitters: Collection[tuple[int, int]] = ()) -> None:
        self.damage: dict[tuple[int, int], float] = {}
        self.by_nobody: dict[tuple[int, int], float] = {}
        self.healed: dict[tuple[int, int], float] = {}
        frames = [frame.entry.players for frame, _ in game.frames]
        for before, now in pairwise(frames):
            for index in before.keys() & now.keys():
                prev, post = before[index].post, now[index].post
                if UNSET in (prev, post) or post.percent == prev.percent:
                    continue
                damage = post.percent - prev.percent
                flags = FLAGS[post.action_state_id]
                if damage < 0:
                    if post.stocks_remaining == prev.stocks_remaining and not flags & DYING:
                        self.healed[index, post.frame] = -damage
                    continue
                self.damage[index, post.frame] = damage
                if (index, post.frame) in unknown_hitters:
                    self.by_nobody[index, post.frame] = damage
                elif is_magnifying_glass(damage) and not flags & HIT and post.action_state_id not in THROWN:
                    # The flag is gone already if the player is on screen again in the frame of the damage.
                    off_screen = [each.state_flags_5 for each in (prev, post) if each.state_flags_5 is not UNSET]
                    assert not off_screen or any(each & OFF_SCREEN for each in off_screen)
                    self.by_nobody[index, post.frame] = damage

    def besides_moves_in(self, conversion: Any) -> float:
        """The changes of a player's percent in a conversion that its moves do not explain."""
        hits = [(conversion.player_index, number) for number in range(conversion.start_frame, conversion.end_frame + 1)]
        return sum(self.by_nobody.get(hit, 0.0) - self.healed.get(hit, 0.0) for hit in hits)


@pytest.mark.parametrize("path", [p for p in replays() if p.stem not in EXCEPTIONS], ids=lambda p: p.stem)
def test_damage_adds_up(path: Path) -> None:
    taken = Taken(game(path.stem), UNKNOWN_HITTERS.get(path.stem, ()))
    stats, _ = result_of(path.stem)
    dealt = sum(totals.damage for player in stats.extra.players for totals in player.exchanges)
    assert dealt == pytest.approx(sum(taken.damage.values()) - sum(taken.by_nobody.values()))
    if len(stats.overall) == 2:
        assert sum(player.total_damage for player in stats.overall) == pytest.approx(dealt)
    for conversion in stats.conversions:
        if conversion.end_percent is not UNSET:
            moves = sum(move.damage for move in conversion.moves)
            percent = conversion.end_percent - conversion.start_percent
            assert moves == pytest.approx(percent - taken.besides_moves_in(conversion), abs=1e-3)


@pytest.mark.parametrize("name", ["items_3.18", *existing("console_name")])
def test_damage_without_hitstun_occurs(name: str) -> None:
    """The test above would also pass without any. `console_name` has four throws and two lasers' worth of others."""
    all_damage, stunned = (
        sum(player.total_damage for player in run(game(name), all_damage=wanted)[0].stats().overall)
        for wanted in (True, False)
    )
    assert all_damage - stunned == pytest.approx(4 * 2 + 2 * 7 if name == "console_name" else 9)


def throw(scene: Scene, state: int = 0xF1) -> Scene:
    """A grab of `b` by `a`, the first hit of a throw for 4 %, and the release for another 3 %."""
    scene.frame(a={"action_state_id": 0xD5}, b={"action_state_id": GRABBED})
    scene.frame(a={"action_state_id": THROW}, b={"action_state_id": state})
    scene.frame(a={"last_attack_landed": UP_THROW}, b={"percent": 4.0})
    return scene.frame(b={"percent": 7.0, "action_state_id": DAMAGED})


@pytest.mark.parametrize("state", THROWN)
def test_first_hit_of_a_throw_belongs_to_the_throw(state: int) -> None:
    stats, events = throw(Scene().frames(10), state).frames(10).run()
    (conversion,), (combo,) = stats.conversions, stats.combos
    for punish in (conversion, combo):
        (move,) = punish.moves
        assert (move.player_index, move.move_id, move.hit_count, move.damage) == (0, UP_THROW, 2, 7.0)
    assert stats.overall[0].total_damage == 7.0
    extended = [event.values["combo"].moves[0].damage for event in events_of(events, "combo_extended")]
    assert extended == [4.0, 7.0]


def test_compatible_stats_omit_the_first_hit_of_a_throw() -> None:
    stats, _ = throw(Scene().frames(10)).frames(10).run(compat=True)
    (move,) = stats.conversions[0].moves
    assert (move.hit_count, move.damage) == (1, 3.0)


def test_thrower_among_four_is_the_nearest_player_that_throws() -> None:
    scene = Scene(4).frame(a={"position_x": 0.0}, b={"position_x": 5.0}, c={"position_x": 90.0}, d={"position_x": 60.0})
    scene.frame(c={"action_state_id": THROW, "last_attack_landed": BACK_THROW})
    stats, _ = throw(scene).frames(5).run()
    exchanges = {player.player_index: player.exchanges for player in stats.extra.players}
    assert [(totals.player_index, totals.damage) for totals in exchanges[0]] == [(1, 4.0)]
    assert exchanges[2] == exchanges[3] == []


def test_laser_counts_and_opens_no_conversion() -> None:
    scene = Scene().frames(10).frame(a={"last_attack_landed": LASER}, b={"percent": 3.0}).frames(60)
    stats, events = scene.run()
    assert not stats.conversions
    assert not stats.combos
    assert (stats.overall[0].total_damage, stats.overall[0].conversion_count) == (3.0, 0)
    assert [totals.damage for totals in stats.extra.players[0].exchanges] == [3.0]
    assert not events_of(events, "conversion_started", "combo_started", "combo_extended")


def test_magnifying_glass_damage_is_credited_to_no_player() -> None:
    stats, _ = Scene().frames(10).frame(b={"percent": 1.0, "action_state_id": 0x1D}).frames(60).run()
    assert [player.total_damage for player in stats.overall] == [0.0, 0.0]


@pytest.mark.parametrize(("last_hit_by", "damage"), [(6, 0.0), (0, 2.0)])
def test_pichu_hurts_itself_unless_it_was_just_hit(last_hit_by: int, damage: float) -> None:
    scene = Scene().frame(b={"internal_character_id": 23}).frames(5, b={"action_state_id": 0x155})
    scene.frame(a={"last_attack_landed": LASER}, b={"percent": 2.0, "last_hit_by": last_hit_by})
    stats, _ = scene.frames(5).run()
    assert stats.overall[0].total_damage == damage


def test_new_conversion_begins_a_move_in_a_continued_action() -> None:
    """The hitter stays in one action for longer than the conversion that it began."""
    attack = {"action_state_id": 0x41, "last_attack_landed": 13}
    scene = Scene().frames(10).frame(a=attack, b={"percent": 5.0, "action_state_id": DAMAGED})
    scene.frames(50, b={"action_state_id": WAITING})
    scene.frame(b={"percent": 8.0, "action_state_id": DAMAGED})
    stats, _ = scene.frames(5).run()
    assert [[move.damage for move in conversion.moves] for conversion in stats.conversions] == [[5.0], [3.0]]


def test_stats_messages_of_a_very_long_game_grow_with_its_length() -> None:
    """A punish without an end, with a new move every third frame: 40 entries a second in conversion and combo."""
    scene = Scene()
    for hits in range(1200):
        attack = {"action_state_id": 0x41 + hits % 2, "last_attack_landed": 13}
        scene.frame(a=attack, b={"percent": float(hits % 300 + 1), "action_state_id": DAMAGED}).frames(2)
    stats, events = scene.run()
    moves = [len(event.stats.conversions[0].moves) for event in events if isinstance(event, StatsUpdate)]
    each_second = [20 * second - 1 for second in range(1, 25)]  # the first frame has no move
    assert moves[:24] == each_second  # until there are a thousand entries
    gaps = [after - before for before, after in pairwise(moves[24:-1])]
    assert gaps == sorted(gaps)
    assert gaps[0] == 20 * 2
    assert gaps[-1] == 20 * 4
    assert moves[-1] == len(stats.conversions[0].moves)
