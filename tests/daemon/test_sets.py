"""Sets in the daemon: grouped from the index, published when they change, and restored after a restart.

The index and its threads are real. The only timed wait is the short delay of `StationSets`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import urllib.request
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.sync.client import connect

from slpstream.formats.slippi.result import GameEndPayload
from slpstream.model.errors import StoreError
from slpstream.model.events import GameEnd
from slpstream.model.summary import GameSummary, IndexedGame, PlayerSummary, Thing
from slpstream.sets import ImpossibleCorrection, Rules, SetPatch, played_games
from slpstream.sets import PlayedGame as PlayedInSet
from slpstream.store import FILE_NAME, GamesQuery, open_database
from slpstream.stream.channel import Channel
from tests.daemons.process import running
from tests.daemons.sets import no_archive, running_sets
from tests.sets.games import ANN_AND_BOB, Folder, replay
from tests.store import samples
from tests.store.samples import start


def end(winner: int, seconds: float = 100.0) -> GameEnd:
    return GameEnd(
        90, "game_end", GameEndPayload(2), ({"playerIndex": winner, "position": 0},), 6000, seconds,
        standings={0: {"stocks": 1, "percent": 3.5}, 1: {"stocks": 0, "percent": 0.0}},
    )  # fmt: skip


def patch(**changes: Any) -> SetPatch:
    return msgspec.convert(changes, SetPatch)


@pytest.mark.trio
async def test_set_follows_the_games(tmp_path: Path) -> None:
    async with running_sets(tmp_path, "main", "side") as sets:
        sets.play(1, start(1))
        message = await sets.until([0, 0])
        assert message["type"] == "set"
        assert message["station"] == "main"
        assert message["setId"] == samples.game_id(1)
        assert [player["name"] for player in message["players"]] == ["ann", "bob"]
        sets.play(1, end(1))
        message = await sets.until([0, 1])
        assert message["games"][0]["players"][0]["stocks"] == 1
        sets.play(2, start(2))
        sets.play(2, end(1))
        message = await sets.until([0, 2])
        assert (message["state"], message["winner"]) == ("over", 1)
        sets.play(3, start(3))
        assert (await sets.until([0, 0]))["setId"] == samples.game_id(3)
        sets.index.gone(Path("/replays/main/3.slp"))
        assert (await sets.until([0, 2]))["setId"] == samples.game_id(1)
        assert sets.hub.channels["side"].set_message() is None, "nothing was played there"
        assert [station for station, _ in sets.published] == ["main"] * len(sets.published)
        payloads = [payload for _, payload in sets.published]
        assert all(one != other for one, other in pairwise(payloads)), "only changes are published"
        assert "type" not in payloads[0]


@pytest.mark.trio
async def test_station_that_is_added_while_sets_are_published_has_its_set(tmp_path: Path) -> None:
    """A changed source removes and adds a station. Subscribers get its set, but outputs get no change."""
    async with running_sets(tmp_path) as sets:
        sets.play(1, start(1), end(1))
        await sets.until([0, 1])
        sets.hub.remove(sets.hub.channels["main"])
        sets.hub.add(Channel("main", no_archive))
        assert (await sets.until([0, 1]))["setId"] == samples.game_id(1)
        assert len(sets.published) == 1
        sets.hub.add(Channel("late", no_archive))
        sets.play(2, start(2), station="late")
        await sets.until([0, 0], "late")
        sets.board.use(Rules(best_of=1))
        await sets.until([0, 1], state="over")


@pytest.mark.trio
async def test_corrections_survive_a_restart(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as sets:
        sets.play(1, start(1), end(0))
        await sets.until([1, 0])
        payload = await sets.board.correct("main", patch(names={"0": "Annabel"}, score={"1": 1}, bestOf=5))
        assert payload is not None
        assert payload.score == [1, 1]
        await sets.until([1, 1], bestOf=5)
        assert sets.published[-1] == ("main", msgspec.to_builtins(payload))
        count = len(sets.published)
        assert await sets.board.correct("main", patch(), lambda before: before.best_of == 3) is None
        with pytest.raises(ImpossibleCorrection):
            await sets.board.correct("main", patch(names={"3": "x"}))
        assert await sets.board.score("main") == payload
        assert len(sets.published) == count
    async with running_sets(tmp_path) as sets:
        assert (await sets.until([1, 1]))["players"][0]["name"] == "Annabel"
        assert sets.published == [("main", msgspec.to_builtins(payload))]
        sets.play(2, start(2), end(0))
        assert (await sets.until([2, 1]))["setId"] == samples.game_id(1)


@pytest.mark.trio
async def test_names_of_a_game_at_two_stations_are_those_of_the_station_asked(tmp_path: Path) -> None:
    async with running_sets(tmp_path, "main", "side") as sets:
        for station in ("main", "side"):
            sets.play(1, start(1), end(0), station=station)
            await sets.until([1, 0], station)
        sets.play(2, start(2), station="side")
        await sets.board.correct("main", patch(names={"0": "Annabel"}))
        await sets.board.correct("side", patch(names={"0": "Anita"}))
        await sets.index.written()
        rows = {row.game_id: row for row in (await sets.index.page(GamesQuery())).games}
        first, second = (rows[samples.game_id(number)] for number in (1, 2))
        for station, name in (("main", "Annabel"), ("side", "Anita")):
            for asked in ([first._replace(station=station), second], [second, first._replace(station=station)]):
                names = await sets.board.names_of(asked)
                assert names == {first.game_id: {0: name}, second.game_id: {0: "Anita"}}


@pytest.mark.trio
async def test_changes_survive_a_restart(tmp_path: Path) -> None:
    """Documents of 1.0 have only corrections, and 1.0 ignores unknown members in documents of later versions."""
    database = open_database(tmp_path / FILE_NAME)
    database.corrections.keep("main", b'{"people":{"connect_code:ann#0":"Anna"},"after":{"":{"bestOf":5}}}')
    database.close()
    async with running_sets(tmp_path) as sets:
        score = await sets.board.score("main")
        assert (score.best_of, score.last_change) == (5, 0)
        assert await sets.board.changes("main") == ()
        await sets.board.correct("main", patch(score={"1": 1}, round="Final", bestOf=7), by="Eve")
        await sets.board.correct("main", patch(names={"0": "Annabel"}))
        document = json.loads((await sets.index.corrections() or {})["main"])
        assert document["people"] == {"connect_code:ann#0": "Anna"}
    async with running_sets(tmp_path) as sets:
        await sets.until([0, 1], round="Final")
        assert [(change.id, change.by) for change in await sets.board.changes("main")] == [(1, "Eve"), (2, "")]
        restored = await sets.board.undo("main", 1, by="Kim")
        assert (restored.score, restored.round, restored.best_of, restored.last_change) == ([0, 0], None, 5, 3)
        assert restored.players[0].name == "Annabel"
        assert sets.published[-1] == ("main", msgspec.to_builtins(restored)), "undoing is published at once"
        with pytest.raises(ImpossibleCorrection, match="already been undone"):
            await sets.board.undo("main", 1)


@pytest.mark.trio
async def test_long_history_is_read_back_to_the_last_break(tmp_path: Path) -> None:
    """The boundaries of sets do not depend on the number of games that are read."""
    async with running_sets(tmp_path) as sets:
        for number in range(300):
            sets.play(number, start(number), end(number % 2), at_minute=5 * number + 60 * (number >= 100))
        await sets.index.written()
        found = await sets.board.score("main")
    # After the break there are 200 games: 66 sets of three (A B A, B A B, ...) and two more games.
    assert [game.game_id for game in found.games] == [samples.game_id(298), samples.game_id(299)]


def test_games_not_played_for_points_are_in_no_set() -> None:
    def played(count: int, *, versus: bool) -> list[PlayedInSet]:
        players = [PlayerSummary(index=0), PlayerSummary(index=1, port=3, character=Thing(id="PMIN"))]
        summary = GameSummary(players=players[:count], versus=versus)
        return played_games([IndexedGame("0" * 32, summary, {}, 0)], ())

    assert played(2, versus=False) == played(1, versus=True) == []
    [game] = played(2, versus=True)
    assert [(player.port, player.character_id) for player in game.players] == [(1, None), (3, None)]


@pytest.mark.slow
def test_set_from_file_to_websocket_and_after_a_restart(tmp_path: Path) -> None:
    folder, state = Folder(tmp_path / "main"), tmp_path / "state"
    folder.add(0, replay(ANN_AND_BOB, {0: 1, 1: 0}, seconds=60, minute=0))
    for path in folder.path.iterdir():
        os.utime(path, (time.time() - 300,) * 2)
    address = "/v1/stations/main/set"
    with running(folder.path, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get(address)["score"] == [1, 0])
        with connect(daemon.stream_url(station="main", topics="game"), open_timeout=10) as socket:
            status, corrected = daemon.request("PATCH", address, {"names": {"1": "Bobby"}, "bestOf": 5})
            assert status == 200
            while (message := json.loads(socket.recv(timeout=10)))["type"] != "set" or message["bestOf"] != 5:
                pass
            assert message == {"type": "set", "station": "main", **corrected}
            running_game = replay(ANN_AND_BOB, {0: 4, 1: 4}, seconds=5, minute=5, ended=False)
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
        before = daemon.get(address)
    with running(folder.path, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get(address) == before)


@pytest.mark.trio
async def test_correction_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as sets:
        await sets.board.score("main")
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as other, other:
            other.execute("DROP TABLE corrections")
        with pytest.raises(StoreError):
            await sets.board.correct("main", patch(bestOf=5))
        assert (await sets.board.score("main")).best_of == 3


def ms_of(minute: int) -> int:
    return 1000 * (samples.DAY_ONE + 60 * minute)


DAY_MINUTES = 24 * 60


@pytest.mark.trio
async def test_scores_since_a_time_leave_out_older_sets(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as sets:
        for number, minute in enumerate((0, 5, DAY_MINUTES, DAY_MINUTES + 5)):
            sets.play(number, start(number), end(0), at_minute=minute)
        await sets.index.written()
        [newest] = await sets.board.scores_since("main", ms_of(DAY_MINUTES + 1))
        assert (newest.set_id, newest.score) == (samples.game_id(2), [2, 0])
        assert len(await sets.board.scores_since("main", ms_of(-DAY_MINUTES))) == 2
        assert await sets.board.scores_since("main", ms_of(2 * DAY_MINUTES)) == []


@pytest.mark.trio
async def test_sets_since_a_time_are_whole(tmp_path: Path) -> None:
    """A set crosses the limit of the first read: its first game is the 65th."""
    async with running_sets(tmp_path) as sets:
        for number in range(10):
            sets.play(number, start(number, "eve", "fay"), end(0), at_minute=5 * number - DAY_MINUTES)
        for number in range(3):
            sets.play(100 + number, start(100 + number), end(int(number > 0)), at_minute=5 * number)
        for number in range(62):
            sets.play(
                200 + number, start(200 + number, "cy", "dee"), end(number % 2), at_minute=5 * number + DAY_MINUTES
            )
        await sets.index.written()
        for since in range(3):
            found = await sets.board.sets_since("main", ms_of(5 * since - 2))
            assert [len(each.games) for each in found if each.games[0].game_id == samples.game_id(100)] == [3]
        found = await sets.board.sets_since("main", ms_of(50 + DAY_MINUTES))
        assert samples.game_id(101) not in {each.games[0].game_id for each in found}
