"""The winners of games beyond the rules of slippi-js: a lost Game End, and the limit of ledge grabs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest

from slpstream.formats.registry import describe
from slpstream.formats.slippi import container
from slpstream.formats.slippi.preview import read_preview
from slpstream.formats.slippi.result import GAME, TIME
from slpstream.model.events import GameEnd, GameStart, first_of
from tests.formats.slippi.agreement import assert_agree
from tests.formats.slippi.built import Built, bookend, post, pre, start
from tests.formats.slippi.logs import bytewise, event_boundaries, events_of, logs_of
from tests.replays import existing, replay

RED_AND_BLUE = {0: 0, 1: 1, 2: 0, 3: 1}


STANDING, DYING, STAR_KO = 0x0E, 0x00, 0x04


def without_game_end(
    stocks: Mapping[int, int],
    *,
    before: Mapping[int, tuple[int, int]] = MappingProxyType({}),
    cut_posts: int = 0,
    version: tuple[int, int, int] = (3, 18, 0),
    **rows: Any,
) -> Built:
    """A game without Game End and with these stocks in the last frame; of that frame the last `cut_posts` updates are
    missing. `before` has stocks and action state of players in the frame before; others stand with four stocks."""
    players = range(max(*stocks, *before, 0) + 1)
    game = Built(version, characters=dict.fromkeys(players, 2), **rows)
    game.frames(-123, -122)
    shown = [(p, *before.get(p, (4, STANDING))) for p in players]
    updates = [post(-121, p, stocks_remaining=left, action_state_id=state) for p, left, state in shown]
    game.add(start(-121), *[pre(-121, p) for p in players], *updates, bookend(-121))
    posts = [post(-120, p, stocks_remaining=left) for p, left in stocks.items()]
    game.add(start(-120), *[pre(-120, p) for p in stocks], *posts[: len(posts) - cut_posts])
    return game if cut_posts else game.add(bookend(-120))


def end_of(data: bytes) -> tuple[GameStart, GameEnd]:
    events = events_of(data)
    begun, ended = first_of(GameStart, events), first_of(GameEnd, events)
    assert begun is not None
    assert ended is not None
    return begun, ended


@pytest.mark.parametrize(
    ("game", "winners"),
    [
        (without_game_end({0: 0, 1: 2}), [1]),
        (without_game_end({0: 0, 1: 2}, version=(1, 7, 1)), [1]),
        (without_game_end({0: 1, 3: 0}, before={1: (0, STANDING), 2: (1, STAR_KO)}), [0]),
        (without_game_end({1: 2, 2: 0}, before={0: (0, DYING)}), [1]),
        (without_game_end({1: 2}, before={0: (1, DYING)}), [1]),
        (without_game_end({1: 0}), [0]),
        (without_game_end({0: 4}, before={1: (4, STANDING)}), []),
        (without_game_end({0: 4}, before={1: (4, STANDING)}, version=(1, 7, 1)), []),
        (without_game_end({0: 4}, before={1: (1, STANDING)}), []),
        (without_game_end({0: 4}, before={1: (2, DYING)}), []),
        (without_game_end({0: 1, 3: 0}, before={1: (0, STANDING)}), []),
        (without_game_end({0: 1, 1: 2}), []),
        (without_game_end({0: 0, 1: 0}), []),
        (without_game_end({0: 2, 1: 0}, cut_posts=1), []),
        (without_game_end({0: 0, 1: 2}, game_bitfield_1=0x02), []),
    ],
    ids=[
        "stocks",
        "1.7",
        "others out",
        "port 2",
        "gone in a death",
        "last one is gone",
        "gone with four stocks",
        "gone in 1.7",
        "gone with one stock",
        "gone with a stock after the death",
        "one of several is gone",
        "undecided",
        "both are out",
        "cut frame",
        "time mode",
    ],
)
@pytest.mark.parametrize("raw_length_bytes", [None, 0])
def test_last_frame_decides_when_game_end_was_lost(
    game: Built, winners: list[int], raw_length_bytes: int | None
) -> None:
    data = game.closed(raw_length_bytes=raw_length_bytes)
    begun, end = end_of(data)
    assert end.reason == "raw_length"
    assert [winner.player_index for winner in end.winners] == winners
    assert end.values.get("basis") == ("inferred" if winners else None)
    summary = describe(begun, end)
    assert (summary.winners, summary.ending, summary.basis) == (
        (winners, "finished", "inferred") if winners else ([], None, "")
    )
    assert_agree(data)
    assert logs_of(bytewise(data)).lines() == logs_of([data]).lines()


def test_team_with_stocks_wins_when_game_end_was_lost() -> None:
    game = without_game_end({1: 1, 3: 0}, before={0: (0, DYING), 2: (0, DYING)}, is_teams=1)
    for player, team in RED_AND_BLUE.items():
        game.game_start = (
            game.game_start[: 0x6E + 0x24 * player] + bytes([team]) + game.game_start[0x6F + 0x24 * player :]
        )
    game.parts[1] = game.game_start
    assert [winner.player_index for winner in end_of(game.closed())[1].winners] == [1, 3]


def test_player_removed_from_the_last_frame_is_not_out() -> None:
    _, end = end_of(without_game_end({0: 4}, before={1: (3, STANDING)}).closed())
    assert {index: standing["stocks"] for index, standing in end.standings.items()} == {0: 4, 1: 3}


@pytest.mark.parametrize(
    ("method", "stocks", "before", "placements", "winners"),
    [
        (TIME, {0: 1}, {1: (4, STANDING)}, (), []),
        (TIME, {0: 1}, {1: (4, STANDING)}, (1, 0, -1, -1), [1]),
        (TIME, {0: 1}, {1: (0, DYING)}, (), [0]),
        (GAME, {0: 0}, {1: (3, STANDING)}, (), [1]),
        (GAME, {0: 0}, {1: (3, STANDING)}, (1, 0, -1, -1), [1]),
        (GAME, {0: 2}, {1: (4, STANDING)}, (), [0]),
        (GAME, {0: 0}, {1: (0, DYING)}, (), []),
    ],
    ids=["time", "time, placed", "time, out", "winner is gone", "winner is gone, placed", "loser is gone", "nobody"],
)
def test_player_missing_from_the_last_frame_is_out_only_with_evidence(
    method: int,
    stocks: Mapping[int, int],
    before: Mapping[int, tuple[int, int]],
    placements: tuple[int, ...],
    winners: list[int],
) -> None:
    version = (3, 18, 0) if placements else (3, 12, 0)
    game = without_game_end(stocks, before=before, version=version)
    data = game.end(method, **({"placements": placements} if placements else {})).closed({"lastFrame": -120})
    _, end = end_of(data)
    assert [winner.player_index for winner in end.winners] == winners
    assert_agree(data)
    preview = read_preview(data[:4096], data[-4096:], len(data) - 4096)
    assert preview is None or (preview.end, preview.end.standings) == (end, end.standings)


def test_file_that_breaks_off_decides_nothing() -> None:
    _, end = end_of(without_game_end({0: 0, 1: 2}).so_far())
    assert (end.reason, end.winners, end.values) == ("incomplete", [], {})


@pytest.mark.parametrize(
    "name", ["singles_3.8", "ice_climbers_3.18", *existing("game", "v2.0", "ics2", "ffa_1p2p3p_winner_3p", "doubles")]
)
def test_inferred_winners_are_those_of_the_lost_game_end(name: str) -> None:
    data = replay(name)
    _, whole = end_of(data)
    _, end = end_of(without_event(data))
    assert end.reason == "raw_length"
    assert [w.player_index for w in end.winners] == [w.player_index for w in whole.winners]


def without_event(data: bytes) -> bytes:
    """The replay without its last event, the Game End, and with raw length 0."""
    boundaries = event_boundaries(data)
    return container.header(0) + data[container.HEADER_BYTES : boundaries[-2]] + data[boundaries[-1] :]


FALL, LEDGE = 0x1D, 0xFC


def timeout(grabs: tuple[int, int], *, stocks: tuple[int, int] = (1, 2), **rows: Any) -> bytes:
    """A game that the time ends, with these ledge grabs; every third one is sent again by a rollback."""
    game = Built(**({"major_scene": 8} | rows))
    game.frame(-123, finalized=-124)
    number = -122
    for i in range(max(grabs)):
        for state in (LEDGE, LEDGE, FALL):
            states = [state if i < count else FALL for count in grabs]
            # A frame that does not stay: its grabs do not count.
            for sent in [[LEDGE, LEDGE], states] if i % 3 == 0 else [states]:
                posts = [post(number, p, action_state_id=sent[p], stocks_remaining=stocks[p]) for p in (0, 1)]
                game.add(start(number), pre(number, 0), pre(number, 1), *posts, bookend(number, number - 3))
            number += 1
    return game.end(1, placements=(0, 0, -1, -1)).closed({"lastFrame": number - 1})


@pytest.mark.parametrize(
    ("data", "winners"),
    [
        (timeout((45, 46)), [0]),
        (timeout((46, 45)), [1]),
        (timeout((45, 45)), [1]),
        (timeout((46, 50)), [1]),
        (timeout((46, 46), stocks=(1, 1)), []),
        (timeout((3, 46), major_scene=2), [1]),
        (timeout((3, 46), is_teams=1), [1]),
        (timeout((3, 46), version=(3, 6, 0)), [1]),
    ],
    ids=["above", "above, with less stocks", "at the limit", "both", "both, even", "offline", "teams", "3.6"],
)
def test_ledge_grabs_decide_a_timeout_of_online_singles(data: bytes, winners: list[int]) -> None:
    _, end = end_of(data)
    assert [winner.player_index for winner in end.winners] == winners
    assert_agree(data)
    assert logs_of(bytewise(data)).lines() == logs_of([data]).lines()
    preview = read_preview(data[:4096], data[-4096:], len(data) - 4096)
    assert preview is None or preview.end.winners == end.winners


@pytest.mark.parametrize("is_late", [False, True])
def test_preview_of_a_last_frame_before_3_0(*, is_late: bool) -> None:
    """One player is out. A late update after the last frame needs the whole file, which shows that it is late."""
    game = Built((1, 0, 0)).frames(-123, 0).frames(1, 60, players=(0,))
    late = [post(60, 0, stocks_remaining=0)] if is_late else []
    data = game.add(*late).end(method=3).closed({"lastFrame": 60})
    preview = read_preview(data[:4096], data[-4096:], len(data) - 4096)
    assert (preview is None) == is_late
    end = first_of(GameEnd, events_of(data))
    assert end is not None
    assert end.standings[0]["stocks"] == 4
    assert preview is None or preview.end == end
    assert_agree(data)


@pytest.mark.parametrize("method", [TIME, GAME])
def test_sendings_after_that_of_the_last_frame_do_not_decide(method: int) -> None:
    """An older frame is sent again by a rollback, and in that sending a player dies who did not."""
    game = Built((3, 12, 0)).frames(-123, -121).frames(-120, -120, players=(0,))
    updates = [post(-121), post(-121, 1, stocks_remaining=0, action_state_id=DYING)]
    game.add(start(-121), pre(-121), pre(-121, 1), *updates, bookend(-121)).frames(-122, -122, players=(0,))
    data = game.end(method).closed()
    _, end = end_of(data)
    assert [winner.player_index for winner in end.winners] == ([0] if method == GAME else [])
    assert_agree(data)


def test_player_without_an_update_in_the_sending_before_has_unknown_stocks() -> None:
    game = Built((3, 12, 0)).frames(-123, -122).frames(-121, -121, players=(0,))
    game.add(start(-120), pre(-120), pre(-120, 1), post(-120), bookend(-120)).frames(-119, -119, players=(0,))
    data = game.end(TIME).closed()
    _, end = end_of(data)
    assert set(end.standings) == {0}
    assert_agree(data)


def test_placements_that_no_game_has_do_not_decide() -> None:
    """A build between 3.12 and 3.13 wrote 16 for the first place and 17 for the second."""
    game = Built().frames(-123, -120)
    game.add(start(-119), pre(-119), pre(-119, 1), post(-119, stocks_remaining=0), post(-119, 1), bookend(-119))
    data = game.end(2, placements=(17, 16, -1, -1)).closed()
    _, end = end_of(data)
    assert [(winner.player_index, winner.position) for winner in end.winners] == [(1, 0)]
    assert_agree(data)


@pytest.mark.parametrize("name", existing("slippi-js__placementsTest__ffa_1p2p_winner_2p_fef9f5"))
def test_real_replay_with_placements_that_no_game_has(name: str) -> None:
    _, end = end_of(replay(name))
    assert [winner.player_index for winner in end.winners] == [1]
