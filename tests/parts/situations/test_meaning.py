"""The words of situations have the same meaning as in the stats."""

from __future__ import annotations

import pytest

from slpstream.api import open_replay
from slpstream.formats.slippi.action_states import states_called
from slpstream.formats.slippi.stats.states import DYING, FLAGS, HIT, LANDING, LEDGE, SHIELD
from slpstream.parts.situations.search.vocabulary import HIT_STATES, STATES
from tests.replays import replay_path


@pytest.mark.parametrize(
    ("word", "flag"), [("shield", SHIELD), ("ledge", LEDGE), ("dead", DYING), ("aerial-landing", LANDING)]
)
def test_states_are_those_of_the_stats(word: str, flag: int) -> None:
    assert states_called(STATES[word]).common == {state for state in range(0x155) if FLAGS[state] & flag}


def test_hit_states_are_those_of_the_stats() -> None:
    assert HIT_STATES.common == {state for state in range(1 << 16) if FLAGS[state] & HIT}


OWN = ("full_match_3.18", "sudden_death_3.12", "lost_game_end_3.18", "stadium_3.19", "doubles_3.18", "stamina_3.18")
REAL = ("rollbackFrameTest", "test", "v0.1", "v2.0", "nintendont", "ics2", "doubles")


@pytest.mark.parametrize("name", [name for name in (*OWN, *REAL) if replay_path(name).is_file()])
def test_kills_are_those_of_the_stats(name: str) -> None:
    replay = open_replay(replay_path(name))
    kills = {(each.player_index, each.opponent_index) for each in replay.situations("kill")}
    stats = replay.stats().extra
    theirs = {(player.player_index, move.player_index) for player in stats.players for move in player.kill_moves}
    assert kills >= theirs
    assert len(replay.situations("kill")) >= sum(len(player.kill_moves) for player in stats.players)
    if len(replay.settings.players) == 2:
        assert len(replay.situations("kill")) == sum(len(player.kill_moves) for player in stats.players)


def test_moves_land_as_often_as_the_stats_count_them() -> None:
    replay = open_replay(replay_path("full_match_3.18"))
    hits = sum(move.hit_count for c in replay.stats().conversions for move in c.moves)
    assert len(replay.situations("hit")) == hits > 50
