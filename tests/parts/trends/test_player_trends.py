"""Trends from a daemon's index, which are compared with a plain calculation of the test's own."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from slpstream.config import Config
from slpstream.config.sections import Search
from slpstream.model.messages import timestamp
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.trends import player_trends
from slpstream.parts.trends.player_trends import PlayerTrends
from slpstream.parts.trends.schemas import LeftOut
from slpstream.store import GameIndex
from tests.daemons.hosts import host_of
from tests.daemons.sets import running_sets
from tests.store import samples

HOUR_MS = 3_600_000
DAY_ONE_MS = 1000 * samples.DAY_ONE


class Game(NamedTuple):
    """A game of Ann, who is on either port, against another player."""

    hour: int
    other: str
    won: bool
    seconds: float
    openings: int
    kills: int
    character: str
    stage: str
    side: int


def games_of_a_season(count: int = 60) -> list[Game]:
    chance = random.Random(5)
    return [
        Game(
            50 * number + chance.randrange(40),
            chance.choice(("Bob", "<script>", "=2+3")),
            chance.random() < 0.5,
            chance.randrange(60, 240),
            chance.randrange(30),
            chance.randrange(4),
            chance.choice(("Fox", "Falco")),
            chance.choice(("Battlefield", "Final Destination")),
            chance.randrange(2),
        )
        for number in range(count)
    ]


def play(index: GameIndex, number: int, game: Game, **summary: Any) -> None:
    """Index a game. `summary` has values that differ."""
    record = samples.record(samples.start(number))
    ann = PlayerSummary(index=game.side, name="Ann", code="ANN#1", character=Thing(name=game.character))
    other = PlayerSummary(index=1 - game.side, name=game.other, character=Thing(name="Marth"))
    values: dict[str, Any] = {
        "players": [ann, other],
        "winners": [game.side if game.won else 1 - game.side],
        "place": Thing(name=game.stage),
    }
    record.summary = GameSummary(**{**values, **summary})
    record.reason, record.duration_seconds = "game_end", game.seconds
    overall = {"playerIndex": game.side, "conversionCount": game.openings, "killCount": game.kills}
    record.stats = msgspec.json.encode({"overall": [{"playerIndex": 1 - game.side, "killCount": 9}, overall]})
    path, at_ms = Path(f"/replays/main/{number}.slp"), DAY_ONE_MS + HOUR_MS * game.hour
    index.played("main", path, 1_000_000 * at_ms, 1000, record, at_ms)


@asynccontextmanager
async def season(
    folder: Path, games: list[Game], me: list[str] | None = None
) -> AsyncIterator[tuple[GameIndex, PlayerTrends]]:
    async with running_sets(folder) as sets:
        host = host_of(Config(search=Search(me=me or [])))
        host.index = sets.index
        for number, game in enumerate(games, 1):
            play(sets.index, number, game)
        yield sets.index, PlayerTrends(host)


@pytest.mark.trio
async def test_rows_are_those_of_a_plain_calculation(tmp_path: Path) -> None:
    games = games_of_a_season()
    by_week: dict[str, list[Game]] = defaultdict(list)
    for game in games:
        day = datetime.fromtimestamp(samples.DAY_ONE + 3600 * game.hour).astimezone().date()
        by_week[(day - timedelta(days=day.weekday())).isoformat()].append(game)
    async with season(tmp_path, games) as (index, trends):
        others: list[dict[str, Any]] = [{"is_teams": True}, {"winners": []}, {"winners": []}]
        for number, summary in enumerate(others, 100):
            play(index, number, games[0], **summary)
        found = await trends.trends_of("ann", 0)
        assert (await trends.trends_of(" ANN#1", 0)).week == found.week
        nobody = await trends.trends_of("Carl", 0)
    assert found.week is not None
    assert [(row.group, row.games, row.won) for row in found.week] == [
        (week, len(played), sum(game.won for game in played)) for week, played in sorted(by_week.items())
    ]
    for row in found.week:
        played = by_week[row.group]
        assert row.average_seconds == pytest.approx(sum(game.seconds for game in played) / len(played), abs=1e-4)
        assert (row.openings, row.kills) == (sum(g.openings for g in played), sum(g.kills for g in played))
        if row.kills:
            assert row.openings_per_kill == pytest.approx(row.openings / row.kills, abs=1e-4)
    for rows, name in ((found.opponent, "other"), (found.character, "character"), (found.stage, "stage")):
        counts = Counter(getattr(game, name) for game in games)
        assert {row.group: row.games for row in rows or ()} == counts
    assert [row.group for row in found.against or ()] == ["Marth"]
    assert found.all.games == len(games)
    assert found.left_out == LeftOut(not_two_players=1, undecided=2)
    assert nobody.all.games == 0
    assert nobody.week == []


@pytest.mark.trio
async def test_only_the_newest_games_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games = games_of_a_season(30)
    async with season(tmp_path, games, ["ANN#1"]) as (_, trends):
        since_ms = DAY_ONE_MS + HOUR_MS * games[20].hour
        assert (await trends.trends_of(None, since_ms)).all.games == 10
        assert (await trends.trends_of("Ann", 0)).limited_to is None
        monkeypatch.setattr(player_trends, "MAX_GAMES", 12)
        monkeypatch.setattr(player_trends, "_GAMES_PER_READ", 5)
        monkeypatch.setattr(player_trends, "MAX_ROWS", 1)
        found = await trends.trends_of(None, 0)
        newest = games[-12:]
        assert (found.me, found.all.games) == (["ANN#1"], 12)
        assert found.limited_to == timestamp((DAY_ONE_MS + HOUR_MS * newest[0].hour) / 1000)
        assert found.all.won == sum(game.won for game in newest)
        assert found.week is not None
        assert found.opponent is not None
        assert [len(found.week), len(found.opponent)] == [1, 1]
        assert found.more["opponent"] == len({game.other for game in newest}) - 1
        assert found.opponent[0].games == Counter(game.other for game in newest).most_common(1)[0][1]
