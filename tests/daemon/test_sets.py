"""The sets of the stations as the daemon keeps them: made from the index, said when they change, there after a restart.

Determinism: the index and its threads are real, time is not waited for but for the scoreboard's own short rest.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from websockets.sync.client import connect

from slpstream.daemon.sets import StationSets
from slpstream.formats.slippi.result import GameEndPayload
from slpstream.model.errors import StoreError
from slpstream.model.events import Event, GameEnd, GameStart
from slpstream.model.summary import GameSummary, IndexedGame, PlayerSummary, Thing
from slpstream.sets import ImpossibleCorrection, Rules, SetPatch, played_games
from slpstream.store import FILE_NAME, GameIndex, open_database
from slpstream.stream import Channel, Hub
from tests.daemon_process import running
from tests.sets.made import Folder, Seat, replay
from tests.store import made

TIMEOUT_SECONDS = 10.0


def start(number: int, *names: str) -> GameStart:
    return made.start(number, *names)


def end(winner: int, seconds: float = 100.0) -> GameEnd:
    return GameEnd(
        90, "game_end", GameEndPayload(2), ({"playerIndex": winner, "position": 0},), 6000, seconds,
        standings={0: {"stocks": 1, "percent": 3.5}, 1: {"stocks": 0, "percent": 0.0}},
    )  # fmt: skip


class Kept:
    """A scoreboard over an index on disk."""

    def __init__(self, index: GameIndex, hub: Hub, board: StationSets) -> None:
        self.index = index
        self.hub = hub
        self.board = board
        self.told: list[tuple[str, Any]] = []
        self._events: dict[int, list[Event]] = {}

    def play(self, number: int, *events: Any, station: str = "main", at_minute: float | None = None) -> None:
        minute = 5 * number if at_minute is None else at_minute
        path = Path(f"/replays/{station}/{number}.slp")
        known = self._events.setdefault(number, [])
        known += events
        mtime_ns = int((made.DAY_ONE + 60 * minute) * made.SECOND)
        self.index.played(station, path, mtime_ns, 1000, made.record(*known))

    async def until(self, score: list[int], station: str = "main") -> Any:
        """Waits until this is said."""
        with trio.fail_after(TIMEOUT_SECONDS):
            while (message := self.hub.channels[station].set_message()) is None or message["score"] != score:
                await self.hub.channels[station].changed()
        return message


async def nowhere(game_id: str) -> None:
    raise AssertionError(game_id)


@asynccontextmanager
async def scoreboard(folder: Path, *stations: str) -> AsyncIterator[Kept]:
    hub = Hub()
    for station in stations or ("main",):
        hub.add(Channel(station, nowhere))
    board = StationSets(hub, Rules())
    index = GameIndex(open_database(folder / FILE_NAME), None, on_change=board.changed)
    kept = Kept(index, hub, board)
    board.listen(lambda station, payload: kept.told.append((station, payload)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        nursery.start_soon(board.run, index)
        await trio.testing.wait_all_tasks_blocked()
        yield kept
        nursery.cancel_scope.cancel()


def patch(**said: Any) -> SetPatch:
    return msgspec.convert(said, SetPatch)


@pytest.mark.trio
async def test_it_follows_the_games(tmp_path: Path) -> None:
    async with scoreboard(tmp_path, "main", "side") as kept:
        kept.play(1, start(1))
        message = await kept.until([0, 0])
        assert message["type"] == "set"
        assert message["station"] == "main"
        assert message["setId"] == made.game_id(1)
        assert [player["name"] for player in message["players"]] == ["ann", "bob"]
        kept.play(1, end(1))
        message = await kept.until([0, 1])
        assert message["games"][0]["players"][0]["stocks"] == 1
        kept.play(2, start(2))
        kept.play(2, end(1))
        message = await kept.until([0, 2])
        assert (message["state"], message["winner"]) == ("over", 1)
        kept.play(3, start(3))
        assert (await kept.until([0, 0]))["setId"] == made.game_id(3)
        kept.index.gone(Path("/replays/main/3.slp"))
        assert (await kept.until([0, 2]))["setId"] == made.game_id(1)
        assert kept.hub.channels["side"].set_message() is None, "nothing was played there"
        assert [station for station, _ in kept.told] == ["main"] * len(kept.told)
        payloads = [payload for _, payload in kept.told]
        assert all(one != other for one, other in pairwise(payloads)), "only changes are told"
        assert "type" not in payloads[0]


@pytest.mark.trio
async def test_a_station_that_comes_back_has_its_set(tmp_path: Path) -> None:
    """Its source was changed, say: those who are connected are told the set, and nobody that it has changed."""
    async with scoreboard(tmp_path) as kept:
        kept.play(1, start(1), end(1))
        await kept.until([0, 1])
        kept.hub.remove(kept.hub.channels["main"])
        kept.hub.add(Channel("main", nowhere))
        assert (await kept.until([0, 1]))["setId"] == made.game_id(1)
        assert len(kept.told) == 1


@pytest.mark.trio
async def test_what_an_operator_said_is_there_after_a_restart(tmp_path: Path) -> None:
    async with scoreboard(tmp_path) as kept:
        kept.play(1, start(1))
        kept.play(1, end(0))
        await kept.until([1, 0])
        said = await kept.board.correct("main", patch(names={"0": "Annabel"}, score={"1": 1}, bestOf=5))
        assert said is not None
        assert said.score == [1, 1]
        assert (await kept.until([1, 1]))["bestOf"] == 5
        assert kept.told[-1] == ("main", msgspec.to_builtins(said))
        told = len(kept.told)
        assert await kept.board.correct("main", patch(), lambda before: before.best_of == 3) is None
        with pytest.raises(ImpossibleCorrection):
            await kept.board.correct("main", patch(names={"3": "x"}))
        assert await kept.board.score("main") == said
        assert len(kept.told) == told
    async with scoreboard(tmp_path) as kept:
        assert (await kept.until([1, 1]))["players"][0]["name"] == "Annabel"
        assert kept.told == [("main", msgspec.to_builtins(said))]
        kept.play(2, start(2))
        kept.play(2, end(0))
        assert (await kept.until([2, 1]))["setId"] == made.game_id(1)


@pytest.mark.trio
async def test_other_rules(tmp_path: Path) -> None:
    async with scoreboard(tmp_path) as kept:
        kept.play(1, start(1), end(0))
        assert (await kept.until([1, 0]))["bestOf"] == 3
        kept.board.use(Rules(best_of=1))
        with trio.fail_after(TIMEOUT_SECONDS):
            while (message := kept.hub.channels["main"].set_message()) is None or message["state"] != "over":
                await kept.hub.channels["main"].changed()


@pytest.mark.trio
async def test_a_station_that_comes_later(tmp_path: Path) -> None:
    async with scoreboard(tmp_path) as kept:
        kept.hub.add(Channel("late", nowhere))
        kept.play(1, start(1), station="late")
        await kept.until([0, 0], "late")
        kept.hub.add(Channel("late", nowhere))
        kept.board.changed("late")
        assert (await kept.until([0, 0], "late"))["setId"] == made.game_id(1), "a new channel is told"
        assert len(kept.told) == 1, "and nobody else: it is the same set"


@pytest.mark.trio
async def test_far_back_only_as_far_as_the_last_break(tmp_path: Path) -> None:
    """Three hundred games of people without names; where the sets begin does not depend on how many are looked at."""
    async with scoreboard(tmp_path) as kept:
        for number in range(300):
            minute = 5 * number if number < 100 else 5 * number + 60
            kept.play(number, start(number, "ann", "bob"), end(number % 2), at_minute=minute)
        with trio.fail_after(TIMEOUT_SECONDS):
            await kept.index.written()
        found = await kept.board.score("main")
        # From the break on sets of three: A B A, B A B, ... 200 games are 66 sets and two games.
        assert found.set_id == made.game_id(298)
        assert [game.game_id for game in found.games] == [made.game_id(298), made.game_id(299)]


@pytest.mark.trio
async def test_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    async with scoreboard(tmp_path) as kept:
        await kept.board.score("main")
        database = kept.index._database
        with database._transaction() as writer:
            writer.execute("DROP TABLE corrections")
        with pytest.raises(StoreError):
            await kept.board.correct("main", patch(bestOf=5))
        assert (await kept.board.score("main")).best_of == 3


@pytest.mark.trio
async def test_corrections_outlive_a_damaged_index(tmp_path: Path) -> None:
    async with scoreboard(tmp_path) as kept:
        await kept.board.correct("main", patch(names={"0": "Ann"}))
        await kept.index._replace_damaged()
        assert (await kept.board.score("main")).players[0].name == "Ann"
    async with scoreboard(tmp_path) as kept:
        assert (await kept.until([0, 0]))["players"][0]["name"] == "Ann"


def test_games_that_are_not_played_for_points_are_in_no_set() -> None:
    players = [PlayerSummary(index=0), PlayerSummary(index=1, port=3, character=Thing(id="PMIN"))]
    race = IndexedGame("0" * 32, GameSummary(players=players), {}, 0)
    assert played_games([race], ()) == []
    [game] = played_games([race._replace(summary=GameSummary(players=players, versus=True))], ())
    assert [(player.port, player.character_id) for player in game.players] == [(1, None), (3, None)]
    alone = GameSummary(players=players[:1], versus=True)
    assert played_games([race._replace(summary=alone)], ()) == []


def test_through_a_daemon_from_the_file_to_the_websocket_and_after_a_restart(tmp_path: Path) -> None:
    folder, state = Folder(tmp_path / "main"), tmp_path / "state"
    seats = {0: Seat("Ann", "ANN#1"), 1: Seat("Bob", "BOB#2")}
    folder.add(0, replay(seats, {0: 1, 1: 0}, seconds=60, minute=0))
    for path in folder.path.iterdir():
        os.utime(path, (time.time() - 300,) * 2)

    def correct(url: str, said: Any) -> Any:
        request = urllib.request.Request(
            f"{url}/v1/stations/main/set",
            json.dumps(said).encode(),
            {"content-type": "application/json"},
            method="PATCH",
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    with running(folder.path, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get("/v1/stations/main/set")["score"] == [1, 0])
        with connect(daemon.stream_url(station="main", topics="game"), open_timeout=10) as socket:
            said = correct(daemon.url, {"names": {"1": "Bobby"}, "bestOf": 5})
            while (message := json.loads(socket.recv(timeout=10)))["type"] != "set" or message["bestOf"] != 5:
                pass
            assert message == {"type": "set", "station": "main", **said}
            running_game = replay(seats, {0: 4, 1: 4}, seconds=5, minute=5, ended=False)
            (folder.path / "now.slp").write_bytes(running_game)
            while (message := json.loads(socket.recv(timeout=10)))["type"] != "set":
                pass
            assert [game["verdict"] for game in message["games"]] == ["counted", "playing"]
        with connect(daemon.stream_url(station="main", topics="game"), open_timeout=10) as socket:
            newcomer = [json.loads(socket.recv(timeout=10)) for _ in range(4)]
        assert [each["type"] for each in newcomer] == ["hello", "station", "set", "snapshot"]
        assert newcomer[2] == message
        assert {"type": "set", "station": "main", **newcomer[3]["set"]} == message
        with urllib.request.urlopen(f"{daemon.url}/v1/events?station=main&topics=game", timeout=10) as events:
            lines = [events.readline() for _ in range(12)]
        assert b"event: set\n" in lines
        before = daemon.get("/v1/stations/main/set")
    with running(folder.path, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get("/v1/stations/main/set") == before)
