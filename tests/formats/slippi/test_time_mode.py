"""Games without stocks: falls, KOs, scores, winners and ties, in `game_end` and in the summary.

Two real replays of time mode and two of bonus mode are at hand, one minute each without a fall; all other games here
are written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from slpstream.api import open_replay, preview_replay
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.result import GAME, NO_CONTEST
from slpstream.formats.slippi.whole_game import WholeGame
from slpstream.game.described import DescribedGame
from slpstream.model.events import Frame, GameEnd
from slpstream.model.summary import GameSummary
from tests.formats.slippi.logs import events_of
from tests.formats.slippi.timed_game import BONUS_MODE, COIN_MODE, STOCK_MODE, TimedGame
from tests.replays import SHARED, needs_shared

BEFORE_PLACEMENTS = (3, 12, 0)


def end_of(data: bytes) -> GameEnd:
    return next(event for event in events_of(data) if isinstance(event, GameEnd))


def summary_of(data: bytes) -> GameSummary:
    described = DescribedGame.of(events_of(data))
    assert described is not None
    return described.summary()


def winners(data: bytes) -> list[int]:
    return [winner.player_index for winner in end_of(data).winners]


def rows(data: bytes) -> list[tuple[int, ...]]:
    """KOs, falls, self-destructs and score by player."""
    return [(s.kos, s.falls, s.self_destructs, s.score) for s in end_of(data).values["scores"]]


def four(**options: Any) -> TimedGame:
    """Player 0 has three KOs and a fall, 1 has one and two falls, 2 has a self-destruct and a fall, 3 has a fall."""
    game = TimedGame(players=4, **options)
    return game.fall(1, by=0).fall(2).fall(3, by=0).fall(0, by=1).fall(2, by=0).fall(1)


def test_falls_kos_and_self_destructs() -> None:
    data = four().end(placements=(0, 1, 3, 2))
    # 0: three KOs, one fall; 1: one KO, falls by 0 and alone; 2: falls alone and by 0; 3: falls by 0.
    assert rows(data) == [(3, 1, 0, 2), (1, 2, 1, -1), (0, 2, 1, -2), (0, 1, 0, -1)]
    assert winners(data) == [0]


@pytest.mark.parametrize(("value", "scores"), [(0, [2, 0, -1, -1]), (-1, [2, -1, -2, -1]), (-2, [2, -2, -3, -1])])
def test_self_destructs_cost_what_the_setting_says(value: int, scores: list[int]) -> None:
    assert [row[3] for row in rows(four(self_destruct_value=value).end())] == scores


@pytest.mark.parametrize("stocks", [0, 1, 4, 99])
@pytest.mark.parametrize("version", [(3, 18, 0), BEFORE_PLACEMENTS, (2, 0, 1), (0, 1, 0)])
def test_number_of_stocks_is_ignored(stocks: int, version: tuple[int, int, int]) -> None:
    data = four(stocks=stocks, version=version).end(placements=(0, 1, 3, 2))
    assert rows(data) == [(3, 1, 0, 2), (1, 2, 1, -1), (0, 2, 1, -2), (0, 1, 0, -1)]
    assert winners(data) == [0]
    assert end_of(data).standings[0].keys() == {"percent"}
    summary = summary_of(data)
    assert (summary.mode, summary.ending, summary.winners) == ("time", "time", [0])
    assert [player.start_stocks for player in summary.players] == [None] * 4
    assert [player.score for player in summary.players] == [2, -1, -2, -1]


def test_falling_stocks_are_ignored() -> None:
    data = TimedGame().lose_stock(0).lose_stock(0).stand().fall(1, by=0).end(placements=(0, 1))
    assert rows(data) == [(1, 0, 0, 1), (0, 1, 0, -1)]
    assert winners(data) == [0]


def test_placements_come_first() -> None:
    """Placements are stored, scores are concluded: with stocks at 0 all game, and when they contradict the scores."""
    assert winners(TimedGame(stocks=0).end(placements=(1, 0))) == [1]
    assert winners(TimedGame(stocks=0).end(placements=(0, 1))) == [0]
    assert winners(TimedGame(players=3, stocks=0).fall(2, by=0).end(placements=(2, 0, 1))) == [1]


def test_score_decides_without_placements() -> None:
    two = TimedGame(version=BEFORE_PLACEMENTS).fall(0, by=1).fall(1, by=0).fall(0)
    assert winners(two.end()) == [1]
    three = TimedGame(players=3, version=BEFORE_PLACEMENTS).fall(0, by=2).fall(1, by=2).fall(2)
    assert winners(three.end()) == [2]


def test_tie_without_placements() -> None:
    data = TimedGame(version=BEFORE_PLACEMENTS).fall(0, by=1).fall(1, by=0).end()
    assert winners(data) == []
    assert end_of(data).values["tied"] is True
    assert summary_of(data).tied


def test_several_first_places_are_a_tie() -> None:
    data = TimedGame(players=3).fall(2, by=0).fall(2, by=1).end(placements=(0, 0, 2))
    assert (winners(data), summary_of(data).tied) == ([], True)


def test_tie_that_the_placements_break_by_kos_falls_and_port() -> None:
    # 0 and 1: 0 points each, but 1 has a KO and a fall: the game places 1 first, and then plays sudden death.
    data = TimedGame(players=3).fall(2, by=1).fall(1).end(placements=(1, 0, 2))
    assert [row[3] for row in rows(data)] == [0, 0, -1]
    assert (winners(data), summary_of(data).tied) == ([], True)
    # Placements in another order than the game gives to a tie: it counted something that the frames do not show.
    data = TimedGame(players=3).fall(2, by=1).fall(1).end(placements=(0, 1, 2))
    assert (winners(data), summary_of(data).tied) == ([0], False)


@pytest.mark.parametrize(("timer_seconds", "tied"), [(2, True), (120, False)])
def test_no_fall_at_all_is_a_tie_only_when_the_time_ran_out(timer_seconds: int, tied: bool) -> None:
    data = TimedGame(starting_timer_seconds=timer_seconds).stand(123 + 120).end(placements=(0, 1))
    assert summary_of(data).tied is tied
    assert winners(data) == ([] if tied else [0])


@pytest.mark.parametrize("version", [(3, 18, 0), BEFORE_PLACEMENTS])
def test_teams(version: tuple[int, int, int]) -> None:
    """Team 0 (players 0 and 2) has KOs by 0 and 2. Player 3 also knocks out the team-mate 1, which is no KO and costs a
    self-destruct."""
    game = TimedGame(players=4, teams=(0, 1, 0, 1), version=version)
    data = game.fall(1, by=0).fall(3, by=2).fall(1, by=3).fall(0, by=1).end(placements=(1, 2, 0, 3))
    assert rows(data) == [(1, 1, 0, 0), (1, 2, 0, -1), (1, 0, 0, 1), (0, 1, 0, -2)]
    assert winners(data) == [0, 2]
    tied = TimedGame(players=4, teams=(0, 1, 0, 1), version=version).fall(1, by=0).fall(2, by=3)
    assert summary_of(tied.end(placements=(0, 2, 3, 1))).tied


def test_own_hit_is_a_self_destruct() -> None:
    assert rows(TimedGame().fall(0, by=0).end())[0] == (0, 1, 1, -1)


def test_double_ko_and_star_ko() -> None:
    data = TimedGame(players=3).fall(0, 1, by=2).fall(2, by=0, state=4, frames=176).end()
    assert rows(data) == [(1, 1, 0, 0), (0, 1, 0, -1), (2, 1, 0, 1)]


@pytest.mark.parametrize("piece_bytes", [0, 1000, 7])
def test_rolled_back_falls_do_not_count(piece_bytes: int) -> None:
    data = TimedGame(online=True).misread(0).fall(1, by=0).misread(1).end(placements=(0, 1))
    events = events_of(data, piece_bytes)
    (end,) = [event for event in events if isinstance(event, GameEnd)]
    assert any(isinstance(event, Frame) and event.revision for event in events)
    assert [(s.kos, s.falls) for s in end.values["scores"]] == [(1, 0), (0, 1)]


def test_copied_reader_counts_on() -> None:
    data = four().end()
    reader = SlippiReader()
    reader.feed(data[: len(data) // 2])
    twin = reader.copy()
    rest = data[len(data) // 2 :]
    for each in (reader, twin):
        (end,) = [event for event in [*each.feed(rest), *each.finish()] if isinstance(event, GameEnd)]
        assert [s.score for s in end.values["scores"]] == [2, -1, -2, -1]


def test_quit_has_no_tie() -> None:
    data = TimedGame().end(placements=(0, 1), method=NO_CONTEST, quitter=0)
    assert (winners(data), summary_of(data).tied) == ([1], False)


@pytest.mark.parametrize(("mode", "name"), [(COIN_MODE, "coin"), (BONUS_MODE, "bonus"), (0x80, "mode 4")])
def test_other_modes_have_falls_but_no_score(mode: int, name: str) -> None:
    data = TimedGame(mode=mode, stocks=0).fall(0, by=1).end(placements=(0, 1))
    summary = summary_of(data)
    assert (summary.mode, summary.winners, summary.tied) == (name, [0], False)
    assert [player.score for player in summary.players] == [None, None]
    assert [(s.kos, s.falls) for s in end_of(data).values["scores"]] == [(0, 1), (1, 0)]
    unknown = TimedGame(mode=mode, version=BEFORE_PLACEMENTS).fall(0, by=1).end()
    assert (winners(unknown), summary_of(unknown).tied) == ([], False)


def test_stamina_mode() -> None:
    """By the placements, else who has stocks left; percents, which are no health points, decide nothing."""
    game = TimedGame(mode=STOCK_MODE, stamina=True, stocks=1).lose_stock(0).lose_stock(1).stand()
    data = game.end(placements=(1, 0), method=GAME)
    assert (winners(data), summary_of(data).mode) == ([1], "stamina")
    old = TimedGame(mode=STOCK_MODE, stamina=True, stocks=1, version=BEFORE_PLACEMENTS)
    assert winners(old.lose_stock(0).stand().end(method=GAME)) == [1]
    timeout = TimedGame(mode=STOCK_MODE, stamina=True, stocks=1, version=BEFORE_PLACEMENTS)
    assert winners(timeout.frame({0: {"percent": 50.0}}).end()) == []


def test_batch_path_and_preview_agree(tmp_path: Path) -> None:
    data = four().end(placements=(0, 1, 3, 2))
    whole = WholeGame(data).end
    assert (whole.winners, whole.values) == (end_of(data).winners, end_of(data).values)
    path = tmp_path / "Game.slp"
    path.write_bytes(data)
    assert preview_replay(path) is None, "falls are in the frames, so the whole file has to be read"
    assert open_replay(path).game_end.values == whole.values


@needs_shared
def test_real_replays() -> None:
    """One minute on the clock, and all players at 0 points. The placements follow the ports: in time mode a tie."""
    for name, mode, winner in (
        ("legal~digital~sdi~sdi_r18_v2", "time", []),
        ("nonlegal~digital~sdi~sdi_unnerfed", "time", []),
        ("legal~digital~sdi~sdi_t20_neutral_cardinal", "bonus", [0]),
        ("nonlegal~digital~sdi~sdi_tas_neutral_cardinal", "bonus", [0]),
    ):
        summary = summary_of((SHARED / "controllers" / f"{name}.slp").read_bytes())
        assert (summary.mode, summary.winners, summary.tied) == (mode, winner, mode == "time")
