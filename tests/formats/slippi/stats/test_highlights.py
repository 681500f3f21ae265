"""Highlights: the points of each reason by hand, and the events of real games against their last stats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec import UNSET

from slpstream.formats.slippi.stats.highlights import highlight_of_conversion, highlight_of_stock
from slpstream.formats.slippi.stats.schema import Conversion, Move, Stats, Stock
from slpstream.model.highlight import Highlight, of_event
from tests.docs.pages import DOCS
from tests.formats.slippi.stats.games import events_of, game, result_of
from tests.replays import existing

GAMES = existing(
    "duplicate_game_end_3.18", "stadium_3.19", "doubles_3.18", "time_mode_3.18", "game", "ics2", "doubles", "items",
    "transform", "v0.1", "v2.0", "v3.18",
)  # fmt: skip


@pytest.mark.parametrize("name", GAMES)
def test_events_are_the_highlights_of_the_last_stats(name: str) -> None:
    settings, (stats, emitted) = game(name).settings, result_of(name)
    players = settings.players
    indices = [player.player_index for player in players]
    teams = {p.player_index: p.team_id for p in players} if settings.is_teams and len(players) > 2 else {}
    events = events_of(emitted, "highlight")
    assert [of_event(event.values) for event in events] == highlights(stats, indices, teams)
    assert [event.frame for event in events] == [event.values["endFrame"] for event in events]


def highlights(stats: Stats, players: Sequence[int], teams: dict[int, int]) -> list[Highlight]:
    """The highlights of a game in the order in which they ended."""
    stocks = stats.stocks
    found = [highlight_of_conversion(conversion, stocks, teams) for conversion in stats.conversions]
    killed = {(each.player_index, each.end_frame) for each in stats.conversions if each.did_kill}
    if len(players) == 2:
        found += [
            highlight_of_stock(stock, next(index for index in players if index != stock.player_index), stocks)
            for stock in stocks
            if (stock.player_index, stock.end_frame) not in killed
        ]
    return sorted((each for each in found if each is not None), key=lambda each: (each.end_frame, each.player_index))


def move(number: int, damage: float = 10) -> Move:
    return Move(player_index=0, frame=number, move_id=13, hit_count=1, damage=damage)


def conversion(moves: int, damage: float, **values: Any) -> Conversion:
    given = [move(number, damage / moves) for number in range(moves)]
    return Conversion(**{"player_index": 1, "start_frame": 500, "end_frame": 600, "moves": given, **values})


def lives(*of: tuple[int, int, int | None]) -> list[Stock]:
    """Lives as (player index, stocks left, frame of the loss)."""
    return [
        Stock(index, -123, end_frame=UNSET if end is None else end, count=count, end_percent=33.3)
        for index, count, end in of
    ]


EVEN = lives((0, 4, None), (1, 4, None))


def found(punish: Conversion, stocks: Sequence[Stock] = EVEN, teams: dict[int, int] | None = None) -> Any:
    highlight = highlight_of_conversion(punish, stocks, teams)
    return None if highlight is None else (highlight.score, highlight.reasons)


def test_points_of_each_reason() -> None:
    assert found(conversion(3, 49.9)) is None, "too few points"
    assert found(conversion(3, 50)) == (50, ("damage",))
    assert found(conversion(6, 48)) == (60, ("length",)), "three moves after the third"
    assert found(conversion(5, 44.66)) == (52.7, ("damage",)), "no other reason"
    assert found(conversion(4, 46)) == (50, ("damage",)), "50 points suffice"
    assert found(conversion(4, 45.9)) is None
    assert found(conversion(12, 24)) == (52, ("length",)), "at most ten moves count"
    assert found(conversion(3, 10, did_kill=True, start_percent=90)) == (50, ("kill",))
    assert found(conversion(3, 60, did_kill=True, start_percent=90)) == (100, ("kill", "damage"))
    assert found(conversion(3, 30, did_kill=True, start_percent=10)) == (110, ("kill", "zero-to-death"))


def points_of_the_page() -> dict[str, int]:
    """The table of points in the documentation: the description of each row, by its reason."""
    page = (DOCS / "reference" / "stats.md").read_text(encoding="utf-8").partition("## Highlights")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in page.splitlines() if re.match(r"\| \d", line)]
    return {reason.split("`")[1]: int(points.split()[0]) for points, _, reason in rows if "`" in reason}


@given(st.integers(1, 14), st.floats(1, 90), st.floats(0, 60), st.booleans(), st.integers(1, 4), st.integers(1, 4))
@example(moves=5, damage=44.66, start_percent=0.0, did_kill=False, own=4, others=4)  # neither part suffices alone
def test_points_of_the_page_suffice(
    moves: int, damage: float, start_percent: float, did_kill: bool, own: int, others: int
) -> None:
    points = points_of_the_page()
    score = points["damage"] * damage + points["length"] * max(0, min(moves, 10) - 3)
    if did_kill:
        score += points["kill"] + points["zero-to-death"] * (start_percent <= 10)
        score += points["comeback"] * max(0, others - own) + points["last-stock"] * (others == 1)
    assume(abs(score - 50) > 1e-6)
    punish = conversion(moves, damage, start_percent=start_percent, did_kill=did_kill)
    highlight = highlight_of_conversion(punish, lives((0, own, None), (1, others, 600 if did_kill else None)))
    assert (highlight is not None) == (score >= 50)
    assert highlight is None or (highlight.score == pytest.approx(score, abs=0.051) and highlight.reasons)


def test_comeback_counts_the_stocks_behind_when_it_began() -> None:
    kill = conversion(3, 20, did_kill=True, start_percent=90)
    assert found(kill, lives((0, 1, None), (1, 3, 600))) == (90, ("kill", "comeback"))
    assert found(kill, lives((0, 3, 550), (1, 3, 600))) == (60, ("kill",)), "it was even when it began"
    assert found(kill, lives((0, 2, None), (1, 1, 600))) == (80, ("kill", "last-stock")), "ahead"
    both = found(kill, lives((0, 2, None), (1, 3, 100), (1, 2, 600)))
    assert both == (60, ("kill",)), "only the newest life of a player counts"


def test_sides_of_a_game_of_teams() -> None:
    kill = conversion(3, 20, did_kill=True, start_percent=90)
    teams = {0: 0, 2: 0, 1: 1, 3: 1}
    behind = lives((0, 1, None), (2, 1, None), (1, 2, 600), (3, 1, None))
    assert found(kill, behind, teams) == (75, ("kill", "comeback"))
    last = lives((0, 2, None), (2, 2, None), (1, 1, 600), (3, 1, 400))
    assert found(kill, last, teams) == (80, ("kill", "last-stock"))
    assert found(kill, lives((0, 2, None), (2, 2, None), (1, 1, 600), (3, 1, None)), teams) == (60, ("kill",))


def test_games_without_stocks_have_no_points_for_stocks() -> None:
    kill = conversion(3, 20, did_kill=True, start_percent=90)
    without = [Stock(index, -123, count=UNSET) for index in (0, 1)]
    assert found(kill, without) == (60, ("kill",))
    assert highlight_of_stock(Stock(1, -123, end_frame=600, count=UNSET), 0, without) is None


def test_situations_that_are_not_highlights() -> None:
    assert found(conversion(3, 80, end_frame=UNSET)) is None, "it goes on"
    assert found(conversion(3, 80, player_index=0)) is None, "players do not hit themselves"
    alone = Conversion(player_index=1, start_frame=5, end_frame=600, did_kill=True, start_percent=120)
    assert found(alone, lives((0, 4, None), (1, 1, 600))) is None, "the hitter is unknown"


def test_last_stock_without_a_conversion() -> None:
    last = lives((0, 2, None), (1, 1, 600))
    assert highlight_of_stock(last[1], 0, last) == Highlight(
        of="stock",
        player_index=0,
        opponent_index=1,
        start_frame=300,
        end_frame=600,
        score=50,
        reasons=("last-stock",),
        start_percent=33.3,
    )
    earlier = lives((0, 2, None), (1, 2, 600))
    assert highlight_of_stock(earlier[1], 0, earlier) is None
    assert highlight_of_stock(last[0], 1, last) is None, "the stock is not lost"


@given(st.integers(1, 12), st.floats(1, 200), st.floats(0, 200), st.booleans(), st.integers(1, 4), st.integers(1, 4))
def test_score_never_decreases_with_more_damage_or_stocks(
    moves: int, damage: float, start_percent: float, did_kill: bool, own: int, others: int
) -> None:
    stocks = lives((0, own, None), (1, others, 600 if did_kill else None))

    def score(more: Conversion) -> float:
        highlight = highlight_of_conversion(more, stocks)
        return 0 if highlight is None else highlight.score

    values: dict[str, Any] = {"start_percent": start_percent, "did_kill": did_kill}
    base = score(conversion(moves, damage, **values))
    assert score(conversion(moves, damage + 5, **values)) >= base
    assert score(conversion(moves + 1, damage, **values)) >= base
    assert score(conversion(moves, damage, **{**values, "did_kill": True})) >= base
    payload = highlight_of_conversion(conversion(moves, damage, **values), stocks)
    if payload is not None:
        assert of_event(msgspec.to_builtins(payload)) == payload
