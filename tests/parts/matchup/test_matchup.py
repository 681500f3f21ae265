"""Matchups from an index of simulated sets, which are compared with a plain calculation of the test's own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import trio

from slpstream.config import Config
from slpstream.model.bracket_facts import ExpectedPlayer
from slpstream.model.messages import timestamp
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.interface import Host
from slpstream.parts.matchup.matchups import Matchups
from slpstream.parts.matchup.schemas import Matchup
from slpstream.parts.services import ExpectedPlayers
from slpstream.sets import SetPatch
from tests.daemons.hosts import host_of
from tests.daemons.sets import Sets, running_sets
from tests.daemons.station import TIMEOUT_SECONDS
from tests.store import samples

PEOPLE = ("Ann", "Bob", "Cem", "Dov")
STAGES = ("Battlefield", "Dream Land N64", "Yoshi's Story")
CHARACTERS = ("Fox", "Marth")
HOUR = 60


class Game(NamedTuple):
    """One game of the test's own list. Values of players are in the order of `names`."""

    number: int
    minute: int
    station: str
    names: tuple[str, str]
    winner: str
    stage: str
    characters: tuple[str, str]
    seconds: float
    openings: tuple[int, int]
    kills: tuple[int, int]


def games_of_season(sets: int = 8) -> list[list[Game]]:
    """The games of some sets, best of three, on two stations. They begin 40 minutes apart, so none is joined."""
    chance = random.Random(7)
    season: list[list[Game]] = []
    number = 0
    for place in range(sets):
        pair = tuple(chance.sample(PEOPLE[:3], 2))
        played: list[Game] = []
        wins = Counter[str]()
        while max(wins.values(), default=0) < 2:
            names = pair if chance.random() < 0.8 else pair[::-1]  # people change ports
            winner = chance.choice(names)
            wins[winner] += 1
            number += 1
            played.append(
                Game(
                    number,
                    place * 40 + 5 * len(played),
                    ("main", "side")[place % 2],
                    (names[0], names[1]),
                    winner,
                    chance.choice(STAGES),
                    (chance.choice(CHARACTERS), chance.choice(CHARACTERS)),
                    chance.randrange(100, 250),
                    (chance.randrange(10, 30), chance.randrange(10, 30)),
                    (chance.randrange(1, 5), chance.randrange(1, 5)),
                )
            )
        season.append(played)
    return season


def record(game: Game, *, codes: bool = True, over: bool = True, **summary: Any) -> Any:
    """The record of a game in the index."""
    played = samples.record(samples.start(game.number))
    players = [
        PlayerSummary(
            index=index,
            name=name,
            code=f"{name.upper()}#{len(name)}" if codes else "",
            character=Thing(kind="character", id=CHARACTERS.index(character), name=character),
            start_stocks=4,
        )
        for index, (name, character) in enumerate(zip(game.names, game.characters, strict=True))
    ]
    overall = [
        {"playerIndex": i, "conversionCount": o, "killCount": k, "openingsPerKill": {"count": o, "total": k}}
        for i, (o, k) in enumerate(zip(game.openings, game.kills, strict=True))
    ]
    values: dict[str, Any] = {
        "place": Thing(kind="stage", id=STAGES.index(game.stage), name=game.stage),
        "players": players,
        "versus": True,
    }
    if over:
        values |= {"winners": [game.names.index(game.winner)], "ending": "finished"}
        played.reason, played.duration_seconds = "game_end", game.seconds
        played.stats = msgspec.json.encode({"overall": overall})
    played.summary = GameSummary(**{**values, **summary})
    return played


def put(sets: Sets, game: Game, **how: Any) -> None:
    at_ms = 1000 * (samples.DAY_ONE + 60 * game.minute)
    path = Path(f"/replays/{game.station}/{game.number}.slp")
    mtime_ns = 1_000_000 * (at_ms + round(1000 * game.seconds))
    sets.index.played(game.station, path, mtime_ns, 1000, record(game, **how), at_ms)


@asynccontextmanager
async def played(folder: Path, games: Sequence[Game], **how: Any) -> AsyncIterator[tuple[Sets, Matchups, Host]]:
    async with running_sets(folder, "main", "side") as sets:
        host = host_of(Config())
        host.index, host.hub = sets.index, sets.hub
        for game in games:
            put(sets, game, **how)
        yield sets, Matchups(host), host


async def matchup(sets: Sets, matchups: Matchups, set_id: str | None, station: str = "main") -> Matchup:
    """The matchup of a station once its set has this id."""
    channel = sets.hub.channels[station]
    with trio.fail_after(TIMEOUT_SECONDS):
        while (message := channel.set_message()) is None or message.get("setId") != set_id:
            await channel.changed()
    return await matchups.matchup_of(station)


def now(number: int, minute: int, names: tuple[str, str] = ("Ann", "Bob"), station: str = "main") -> Game:
    """A game that begins after the season."""
    return Game(number, minute, station, names, names[0], STAGES[0], ("Fox", "Marth"), 120.0, (9, 9), (3, 3))


def expected(season: list[list[Game]], begins: int) -> dict[str, Any]:
    """The matchup of Ann and Bob, calculated from the list of sets."""
    both = [games for games in season if set(games[0].names) == {"Ann", "Bob"}]
    shared = [game for games in both for game in games]

    def wins(games: list[Game], name: str) -> int:
        return sum(game.winner == name for game in games)

    def moment(games: list[Game]) -> str:
        return timestamp(samples.DAY_ONE + 60 * games[0].minute)

    def stage(name: str) -> dict[str, Any]:
        return {"kind": "stage", "id": STAGES.index(name), "name": name}

    def by_count(games: list[Game]) -> list[str]:
        counts = Counter(game.stage for game in games)
        return sorted(counts, key=lambda name: (-counts[name], name))

    players = []
    for me in ("Ann", "Bob"):
        mine = [games for games in season if me in games[0].names]
        last = [game for games in mine for game in games]
        openings = sum(game.openings[game.names.index(me)] for game in last)
        kills = sum(game.kills[game.names.index(me)] for game in last)
        results = []
        for games in [each for each in mine if each[0].minute >= begins - 12 * HOUR][:-6:-1]:
            other = next(name for name in games[0].names if name != me)
            score = [wins(games, me), wins(games, other)]
            results.append(
                {
                    "setId": samples.game_id(games[0].number),
                    "at": moment(games),
                    "opponent": other,
                    "score": score,
                    "won": score[0] > score[1],
                }
            )
        ways = Counter((game.characters[game.names.index(me)], game.stage) for game in shared)
        won = Counter((game.characters[game.names.index(me)], game.stage) for game in shared if game.winner == me)
        character, where = min(won, key=lambda way: (-won[way], ways[way], way))
        players.append(
            {
                "name": me,
                "code": f"{me.upper()}#3",
                "results": results,
                "games": len(last),
                "averageSeconds": round(sum(game.seconds for game in last) / len(last), 1),
                "openingsPerKill": round(openings / kills, 2),
                "stages": [
                    {
                        "stage": stage(name),
                        "games": sum(game.stage == name for game in last),
                        "won": wins([game for game in last if game.stage == name], me),
                    }
                    for name in by_count(last)
                ],
                "worked": {"character": character, "stage": where, "games": ways[character, where]}
                | {"won": won[character, where]},
            }
        )
    return {
        "setId": samples.game_id(900),
        "players": players,
        "headToHead": {
            "sets": [sum(wins(games, me) == 2 for games in both) for me in ("Ann", "Bob")],
            "games": [wins(shared, me) for me in ("Ann", "Bob")],
            "last": {
                "setId": samples.game_id(both[-1][0].number),
                "at": moment(both[-1]),
                "score": [wins(both[-1], me) for me in ("Ann", "Bob")],
            },
            "stages": [
                {
                    "stage": stage(name),
                    "won": [wins([g for g in shared if g.stage == name], me) for me in ("Ann", "Bob")],
                }
                for name in by_count(shared)
            ],
        },
    }


def plain(found: Matchup) -> Any:
    """A matchup as JSON, in which the characters of `worked` are only their names."""
    answer = msgspec.to_builtins(found)
    for player in answer["players"]:
        worked = player.get("worked")
        if worked is not None:
            player["worked"] = {**worked, "character": worked["character"]["name"], "stage": worked["stage"]["name"]}
    return answer


@pytest.mark.trio
async def test_matchup_equals_a_plain_calculation_also_after_a_restart(tmp_path: Path) -> None:
    season = games_of_season()
    begins = 40 * len(season) + HOUR
    games = [game for each in season for game in each]
    # Games that don't count: against the computer, one that was quit early, and one without an end.
    extra = now(800, begins - HOUR)
    async with played(tmp_path, games) as (sets, matchups, _):
        computer = [PlayerSummary(index=0, name="Ann", code="ANN#3"), PlayerSummary(index=1, name="CPU", human=False)]
        put(sets, extra, players=computer)
        put(sets, extra._replace(number=801, minute=begins - 56, seconds=10.0), ending="quit", quitter=1)
        put(sets, extra._replace(number=802, minute=begins - 52), over=False)
        put(sets, now(900, begins))
        found = await matchup(sets, matchups, samples.game_id(900))
    assert plain(found) == expected(season, begins)
    async with played(tmp_path, []) as (sets, matchups, _):
        assert await matchup(sets, matchups, samples.game_id(900)) == found


def single_games(count: int) -> list[Game]:
    """Sets of one game between Ann and Bob, the oldest first. They begin too far apart to be one set."""
    chance = random.Random(3)
    return [
        now(number, 120 * number)._replace(winner=chance.choice(("Ann", "Bob")), seconds=chance.randrange(100, 250))
        for number in range(1, count + 1)
    ]


def won(games: Sequence[Game]) -> list[int]:
    return [sum(game.winner == name for game in games) for name in ("Ann", "Bob")]


@pytest.mark.trio
@pytest.mark.parametrize("count", [60, 61, 70])
async def test_newest_games_are_counted(tmp_path: Path, count: int) -> None:
    """The newest 60 of two people against each other, and the newest 24 of each of them."""
    games = single_games(count)
    async with played(tmp_path, games) as (sets, matchups, _):
        put(sets, now(900, 120 * 80))
        found = await matchup(sets, matchups, samples.game_id(900))
    assert found.head_to_head is not None
    assert (found.head_to_head.limited, found.head_to_head.games) == (count > 60, won(games[-60:]))
    assert count == 60 or won(games[-60:]) != won(games[-61:])
    for player in found.players:
        assert (player.games, sum(stage.games for stage in player.stages)) == (24, 24)
        assert player.average_seconds == round(sum(game.seconds for game in games[-24:]) / 24, 1)


@pytest.mark.trio
async def test_set_that_is_only_partly_among_the_newest_games_is_not_counted(tmp_path: Path) -> None:
    first = now(1, 0)
    games = [first, first._replace(number=2, minute=4), *(game for game in single_games(61) if game.number > 2)]
    async with played(tmp_path, games) as (sets, matchups, _):
        put(sets, now(900, 120 * 80))
        found = await matchup(sets, matchups, samples.game_id(900))
    assert found.head_to_head is not None
    assert (found.head_to_head.limited, found.head_to_head.games) == (True, won(games[2:]))
    assert len(games[2:]) == 59


@pytest.mark.trio
async def test_games_are_searched_among_those_of_the_person_with_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only among the newest ones, if this person has played very many."""
    monkeypatch.setattr("slpstream.parts.matchup.history._SEARCHED_GAMES", 30)
    old = [now(number, 120 * number, ("Ann", "Cem")) for number in range(101, 104)]
    games = [game._replace(minute=game.minute + 20_000) for game in single_games(40)]
    async with played(tmp_path, [*old, *games]) as (sets, matchups, _):
        for number, names, counted, limited in (
            (900, ("Ann", "Bob"), won(games[-30:]), True),
            (901, ("Ann", "Cem"), [3, 0], False),
        ):
            put(sets, now(number, 40_000 + 120 * number, names))
            found = await matchup(sets, matchups, samples.game_id(number))
            assert found.head_to_head is not None
            assert (found.head_to_head.games, found.head_to_head.limited) == (counted, limited)


@pytest.mark.trio
async def test_nothing_is_claimed_about_people_who_cannot_be_told_apart(tmp_path: Path) -> None:
    def season(*names: tuple[str, str]) -> list[Game]:
        return [now(number, 60 * number, pair) for number, pair in enumerate(names, 1)]

    # With codes: another Bob, who has another code.
    namesake = record(now(1, 60)).summary.players[1]
    async with played(tmp_path / "codes", season(("Ann", "Cem"), ("Ann", "Bob"))) as (sets, matchups, _):
        other = msgspec.structs.replace(namesake, code="BOB#999")
        put(sets, now(3, 300), players=[record(now(3, 300)).summary.players[0], other])
        found = await matchup(sets, matchups, samples.game_id(3))
        assert [player.code for player in found.players] == ["ANN#3", "BOB#999"]
        assert found.head_to_head is not None
        assert found.head_to_head.games == [0, 0]
        assert [player.games for player in found.players] == [2, 0]

    # Without codes: two people called Bob play at the same time.
    async with played(tmp_path / "names", season(("Ann", "Bob"), ("Cem", "Bob")), codes=False) as (sets, matchups, _):
        put(sets, now(4, 60, ("Dov", "Bob"), "side")._replace(minute=61), codes=False)
        put(sets, now(5, 300), codes=False)
        found = await matchup(sets, matchups, samples.game_id(5))
        assert (found.players, found.head_to_head) == ([], None)
        assert found.without_matchup == "two people seem to have the same name"

    # Without codes: both players have the same name.
    async with played(tmp_path / "same", [now(1, 60, ("Bob", "Bob"))], codes=False) as (sets, matchups, _):
        found = await matchup(sets, matchups, samples.game_id(1))
        assert found.without_matchup == "both players have the same name"


@pytest.mark.trio
@pytest.mark.parametrize(
    ("summary", "reason"),
    [
        ({"is_teams": True}, "a set of teams"),
        ({"players": [PlayerSummary(index=0), PlayerSummary(index=1)]}, "the players are not known"),
        ({"players": [PlayerSummary(index=0, name="Ann"), PlayerSummary(index=1, name="CPU", human=False)]},
         "a game against the computer"),
    ],
)  # fmt: skip
async def test_sets_without_a_matchup(tmp_path: Path, summary: dict[str, Any], reason: str) -> None:
    if "is_teams" in summary:
        names = enumerate(PEOPLE)
        summary = {**summary, "players": [PlayerSummary(index=i, name=name, team=i % 2) for i, name in names]}
    async with played(tmp_path, []) as (sets, matchups, _):
        put(sets, now(1, 60), **summary)
        found = await matchup(sets, matchups, samples.game_id(1))
        assert (found.players, found.without_matchup) == ([], reason)


@pytest.mark.trio
async def test_people_whom_an_operator_or_a_bracket_has_named(tmp_path: Path) -> None:
    nobody = [PlayerSummary(index=0), PlayerSummary(index=1)]

    class Bracket:
        def expected(self, station: str) -> list[ExpectedPlayer]:
            return [ExpectedPlayer("Cem"), ExpectedPlayer("Dov")]

    async with played(tmp_path, []) as (sets, matchups, host):
        for number, minute in ((1, 60), (2, 65)):
            put(sets, now(number, minute, station="side"), players=nobody)
        await matchup(sets, matchups, samples.game_id(1), "side")
        await sets.board.correct("side", SetPatch(names={"0": "Cem", "1": "Dov"}))
        host.provide(ExpectedPlayers, Bracket())
        found = await matchups.matchup_of("main")
        assert [player.name for player in found.players] == ["Cem", "Dov"]
        assert found.head_to_head is not None
        assert (found.head_to_head.sets, found.head_to_head.games) == ([1, 0], [2, 0])


@pytest.mark.trio
async def test_messages_follow_the_set(tmp_path: Path) -> None:
    async with played(tmp_path, [now(1, 60), now(2, 65)]) as (sets, matchups, _), trio.open_nursery() as nursery:
        put(sets, now(3, 300))
        first = await matchup(sets, matchups, samples.game_id(3))
        send, received = trio.open_memory_channel[Any](10)
        channel = sets.hub.channels["main"]
        nursery.start_soon(matchups.send_messages, "matchup", channel, "live", send.send)
        with trio.fail_after(TIMEOUT_SECONDS):
            assert await received.receive() == msgspec.to_builtins(first)
            put(sets, now(4, 305))  # the same set
            put(sets, now(5, 600))
            message = await received.receive()
        assert message["setId"] == samples.game_id(5)
        assert message["headToHead"]["games"] == [4, 0]
        nursery.cancel_scope.cancel()
