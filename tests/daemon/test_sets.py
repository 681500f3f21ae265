"""Sets in the daemon: grouped from the index, published when they change, and restored after a restart.

The index and its threads are real. The tests wait for no time but the short delay of `StationSets` itself.
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
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.result import GameEndPayload
from slpstream.model.errors import StoreError
from slpstream.model.events import Event, GameEnd, GameStart
from slpstream.model.summary import GameSummary, IndexedGame, PlayerSummary, Standing, Thing
from slpstream.sets import ImpossibleCorrection, Rules, SetPatch, played_games
from slpstream.store import FILE_NAME, GameIndex, open_database
from slpstream.stream import Channel, Hub
from tests.daemons.process import running
from tests.sets.games import Folder, Seat, replay
from tests.stats.games import with_raw_length
from tests.store import samples

TIMEOUT_SECONDS = 10.0


def start(number: int, *names: str) -> GameStart:
    return samples.start(number, *names)


def end(winner: int, seconds: float = 100.0) -> GameEnd:
    return GameEnd(
        90, "game_end", GameEndPayload(2), ({"playerIndex": winner, "position": 0},), 6000, seconds,
        standings={0: {"stocks": 1, "percent": 3.5}, 1: {"stocks": 0, "percent": 0.0}},
    )  # fmt: skip


class Scores:
    """The sets of some stations over an index on disk."""

    def __init__(self, index: GameIndex, hub: Hub, board: StationSets) -> None:
        self.index = index
        self.hub = hub
        self.board = board
        self.published: list[tuple[str, Any]] = []
        self._events: dict[int, list[Event]] = {}

    def play(self, number: int, *events: Any, station: str = "main", at_minute: float | None = None) -> None:
        minute = 5 * number if at_minute is None else at_minute
        path = Path(f"/replays/{station}/{number}.slp")
        so_far = self._events.setdefault(number, [])
        so_far += events
        mtime_ns = int((samples.DAY_ONE + 60 * minute) * samples.SECOND)
        self.index.played(station, path, mtime_ns, 1000, samples.record(*so_far))

    async def until(self, score: list[int], station: str = "main") -> Any:
        """Wait until a station publishes this score."""
        with trio.fail_after(TIMEOUT_SECONDS):
            while (message := self.hub.channels[station].set_message()) is None or message["score"] != score:
                await self.hub.channels[station].changed()
        return message


async def no_archive(game_id: str) -> None:
    raise AssertionError(game_id)


@asynccontextmanager
async def running_sets(folder: Path, *stations: str) -> AsyncIterator[Scores]:
    hub = Hub()
    for station in stations or ("main",):
        hub.add(Channel(station, no_archive))
    board = StationSets(hub, Rules())
    index = GameIndex(open_database(folder / FILE_NAME), None, on_change=board.changed)
    scores = Scores(index, hub, board)
    board.listen(lambda station, payload: scores.published.append((station, payload)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        nursery.start_soon(board.run, index)
        await trio.testing.wait_all_tasks_blocked()
        yield scores
        nursery.cancel_scope.cancel()


def patch(**changes: Any) -> SetPatch:
    return msgspec.convert(changes, SetPatch)


@pytest.mark.trio
async def test_set_follows_the_games(tmp_path: Path) -> None:
    async with running_sets(tmp_path, "main", "side") as scores:
        scores.play(1, start(1))
        message = await scores.until([0, 0])
        assert message["type"] == "set"
        assert message["station"] == "main"
        assert message["setId"] == samples.game_id(1)
        assert [player["name"] for player in message["players"]] == ["ann", "bob"]
        scores.play(1, end(1))
        message = await scores.until([0, 1])
        assert message["games"][0]["players"][0]["stocks"] == 1
        scores.play(2, start(2))
        scores.play(2, end(1))
        message = await scores.until([0, 2])
        assert (message["state"], message["winner"]) == ("over", 1)
        scores.play(3, start(3))
        assert (await scores.until([0, 0]))["setId"] == samples.game_id(3)
        scores.index.gone(Path("/replays/main/3.slp"))
        assert (await scores.until([0, 2]))["setId"] == samples.game_id(1)
        assert scores.hub.channels["side"].set_message() is None, "nothing was played there"
        assert [station for station, _ in scores.published] == ["main"] * len(scores.published)
        payloads = [payload for _, payload in scores.published]
        assert all(one != other for one, other in pairwise(payloads)), "only changes are published"
        assert "type" not in payloads[0]


@pytest.mark.trio
async def test_station_that_is_added_again_has_its_set(tmp_path: Path) -> None:
    """A changed source removes and adds a station. Subscribers get its set, but outputs get no change."""
    async with running_sets(tmp_path) as scores:
        scores.play(1, start(1), end(1))
        await scores.until([0, 1])
        scores.hub.remove(scores.hub.channels["main"])
        scores.hub.add(Channel("main", no_archive))
        assert (await scores.until([0, 1]))["setId"] == samples.game_id(1)
        assert len(scores.published) == 1


@pytest.mark.trio
async def test_corrections_survive_a_restart(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as scores:
        scores.play(1, start(1))
        scores.play(1, end(0))
        await scores.until([1, 0])
        payload = await scores.board.correct("main", patch(names={"0": "Annabel"}, score={"1": 1}, bestOf=5))
        assert payload is not None
        assert payload.score == [1, 1]
        assert (await scores.until([1, 1]))["bestOf"] == 5
        assert scores.published[-1] == ("main", msgspec.to_builtins(payload))
        count = len(scores.published)
        assert await scores.board.correct("main", patch(), lambda before: before.best_of == 3) is None
        with pytest.raises(ImpossibleCorrection):
            await scores.board.correct("main", patch(names={"3": "x"}))
        assert await scores.board.score("main") == payload
        assert len(scores.published) == count
    async with running_sets(tmp_path) as scores:
        assert (await scores.until([1, 1]))["players"][0]["name"] == "Annabel"
        assert scores.published == [("main", msgspec.to_builtins(payload))]
        scores.play(2, start(2))
        scores.play(2, end(0))
        assert (await scores.until([2, 1]))["setId"] == samples.game_id(1)


@pytest.mark.trio
async def test_changes_survive_a_restart(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as scores:
        scores.play(1, start(1))
        await scores.until([0, 0])
        await scores.board.correct("main", patch(score={"1": 1}, round="Final"), by="Eve")
        await scores.board.correct("main", patch(names={"0": "Annabel"}))
        assert scores.published[-1][1]["lastChange"] == 2
    async with running_sets(tmp_path) as scores:
        await scores.until([0, 1])
        assert [(change.id, change.by) for change in await scores.board.changes("main")] == [(1, "Eve"), (2, "")]
        restored = await scores.board.undo("main", 1, by="Kim")
        assert (restored.score, restored.round, restored.last_change) == ([0, 0], None, 3)
        assert restored.players[0].name == "Annabel"
        assert scores.published[-1] == ("main", msgspec.to_builtins(restored)), "undoing is published at once"
        with pytest.raises(ImpossibleCorrection, match="already been undone"):
            await scores.board.undo("main", 1)


@pytest.mark.trio
async def test_corrections_from_before_the_list_of_changes(tmp_path: Path) -> None:
    """Documents of 1.0 have corrections alone, and 1.0 ignores what it does not know in those of later versions."""
    database = open_database(tmp_path / FILE_NAME)
    database.keep_corrections("main", b'{"people":{"connect_code:ann#1":"Annabel"},"after":{"":{"bestOf":5}}}')
    database.close()
    async with running_sets(tmp_path) as scores:
        score = await scores.board.score("main")
        assert (score.best_of, score.last_change) == (5, 0)
        assert await scores.board.changes("main") == ()
        await scores.board.correct("main", patch(bestOf=7))
        assert (await scores.board.undo("main", 1)).best_of == 5
        document = json.loads((await scores.index.corrections() or {})["main"])
        assert document["people"] == {"connect_code:ann#1": "Annabel"}
        assert document["after"] == {"": {"bestOf": 5}}


@pytest.mark.trio
async def test_changed_rules_apply_to_the_running_set(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as scores:
        scores.play(1, start(1), end(0))
        assert (await scores.until([1, 0]))["bestOf"] == 3
        scores.board.use(Rules(best_of=1))
        with trio.fail_after(TIMEOUT_SECONDS):
            while (message := scores.hub.channels["main"].set_message()) is None or message["state"] != "over":
                await scores.hub.channels["main"].changed()


@pytest.mark.trio
async def test_station_added_later_has_its_set(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as scores:
        scores.hub.add(Channel("late", no_archive))
        scores.play(1, start(1), station="late")
        await scores.until([0, 0], "late")
        scores.hub.add(Channel("late", no_archive))
        scores.board.changed("late")
        assert (await scores.until([0, 0], "late"))["setId"] == samples.game_id(1), "published to the new channel"
        assert len(scores.published) == 1, "the outputs have it already"


@pytest.mark.trio
async def test_long_history_is_read_back_to_the_last_break(tmp_path: Path) -> None:
    """The beginnings of sets do not depend on the number of games that are read."""
    async with running_sets(tmp_path) as scores:
        for number in range(300):
            minute = 5 * number if number < 100 else 5 * number + 60
            scores.play(number, start(number, "ann", "bob"), end(number % 2), at_minute=minute)
        with trio.fail_after(TIMEOUT_SECONDS):
            await scores.index.written()
        found = await scores.board.score("main")
        # After the break come 200 games, which are 66 sets of three (A B A, B A B, ...) and two more games.
        assert found.set_id == samples.game_id(298)
        assert [game.game_id for game in found.games] == [samples.game_id(298), samples.game_id(299)]


@pytest.mark.trio
async def test_failed_write_of_a_correction_is_reported_and_undone(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as scores:
        await scores.board.score("main")
        database = scores.index._database
        with database._transaction() as writer:
            writer.execute("DROP TABLE corrections")
        with pytest.raises(StoreError):
            await scores.board.correct("main", patch(bestOf=5))
        assert (await scores.board.score("main")).best_of == 3


@pytest.mark.trio
async def test_corrections_survive_a_damaged_index(tmp_path: Path) -> None:
    async with running_sets(tmp_path) as scores:
        await scores.board.correct("main", patch(names={"0": "Ann"}))
        await scores.index._replace_damaged()
        assert (await scores.board.score("main")).players[0].name == "Ann"
    async with running_sets(tmp_path) as scores:
        assert (await scores.until([0, 0]))["players"][0]["name"] == "Ann"


def test_games_not_played_for_points_are_in_no_set() -> None:
    players = [PlayerSummary(index=0), PlayerSummary(index=1, port=3, character=Thing(id="PMIN"))]
    race = IndexedGame("0" * 32, GameSummary(players=players), {}, 0)
    assert played_games([race], ()) == []
    [game] = played_games([race._replace(summary=GameSummary(players=players, versus=True))], ())
    assert [(player.port, player.character_id) for player in game.players] == [(1, None), (3, None)]
    alone = GameSummary(players=players[:1], versus=True)
    assert played_games([race._replace(summary=alone)], ()) == []


@pytest.mark.slow
def test_set_from_file_to_websocket_and_after_a_restart(tmp_path: Path) -> None:
    folder, state = Folder(tmp_path / "main"), tmp_path / "state"
    seats = {0: Seat("Ann", "ANN#1"), 1: Seat("Bob", "BOB#2")}
    folder.add(0, replay(seats, {0: 1, 1: 0}, seconds=60, minute=0))
    for path in folder.path.iterdir():
        os.utime(path, (time.time() - 300,) * 2)

    def correct(url: str, changes: Any) -> Any:
        request = urllib.request.Request(
            f"{url}/v1/stations/main/set",
            json.dumps(changes).encode(),
            {"content-type": "application/json"},
            method="PATCH",
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    with running(folder.path, state=state) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: daemon.get("/v1/stations/main/set")["score"] == [1, 0])
        with connect(daemon.stream_url(station="main", topics="game"), open_timeout=10) as socket:
            corrected = correct(daemon.url, {"names": {"1": "Bobby"}, "bestOf": 5})
            while (message := json.loads(socket.recv(timeout=10)))["type"] != "set" or message["bestOf"] != 5:
                pass
            assert message == {"type": "set", "station": "main", **corrected}
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


@pytest.mark.slow
def test_wrong_clock_of_a_console_changes_neither_order_nor_set(tmp_path: Path) -> None:
    """The console goes back by ten hours after the first game, as after a change of its battery."""
    folder, state = tmp_path / "main", tmp_path / "state"
    folder.mkdir()
    seats = {0: Seat(name="Ann", code="ANN#1"), 1: Seat(name="Bob", code="BOB#2")}
    games = [replay(seats, {0: 2, 1: 0}, seconds=70, minute=minute) for minute in (600, 0)]
    with running(folder, state=state) as daemon:
        daemon.wait_ready()
        for number, data in enumerate(games):
            with (folder / f"Game_{number}.slp").open("wb", buffering=0) as file:
                for part in (with_raw_length(data[:3000], 0), data[3000:]):
                    file.write(part)
                    time.sleep(0.3)
                file.seek(0)
                file.write(data[:HEADER_BYTES])
            daemon.until(lambda: len(daemon.get("/v1/games")["games"]) == number + 1)  # noqa: B023
        daemon.until(lambda: daemon.get("/v1/stations/main/set")["score"] == [2, 0])
        listed = daemon.get("/v1/games")["games"]
    [second, first] = listed
    assert first["startedAt"] > second["startedAt"]
    assert first["arrivedAt"] < second["arrivedAt"]
    score = daemon_set_after_restart(folder, state, listed)
    assert (score["state"], score["winner"], len(score["games"])) == ("over", 0, 2)


def daemon_set_after_restart(folder: Path, state: Path, listed: Any) -> Any:
    """The set in another daemon, which must list the same games."""
    with running(folder, state=state) as daemon:
        daemon.wait_ready()
        assert daemon.get("/v1/games")["games"] == listed
        return daemon.get("/v1/stations/main/set")


def stored(number: int, at_ms: int, winner: int, *codes: str) -> IndexedGame:
    players = [PlayerSummary(index=i, port=i + 1, code=code, start_stocks=4) for i, code in enumerate(codes)]
    summary = GameSummary(players=players, versus=True, ending="finished", winners=[winner])
    standings = {side: Standing(stocks=int(side == winner)) for side in (0, 1)}
    return IndexedGame(
        f"{number:032x}", summary, standings, at_ms, arrived_at_ms=at_ms, duration_seconds=200.0, reason="game_end"
    )


class StoredGames:
    """An index that has the games of one station."""

    def __init__(self, games: list[IndexedGame]) -> None:
        self._games = sorted(games, key=lambda game: -game.listed_at_ms)

    async def written(self) -> None:
        await trio.lowlevel.checkpoint()

    async def played_on(self, station: str, limit: int) -> list[IndexedGame]:
        return self._games[:limit]

    async def corrections(self) -> dict[str, bytes]:
        return {}


NOW_MS, MINUTE_MS, DAY_MS = 1_700_000_000_000, 60_000, 86_400_000


def board_of(games: list[IndexedGame]) -> StationSets:
    board = StationSets(Hub(), Rules())
    board._index = StoredGames(games)  # type: ignore[assignment]
    return board


@pytest.mark.trio
async def test_scores_since_a_time_leave_out_older_sets() -> None:
    old = [stored(number, NOW_MS - DAY_MS + 5 * number * MINUTE_MS, 0, "A#1", "B#1") for number in (1, 2)]
    new = [stored(10 + number, NOW_MS + 5 * number * MINUTE_MS, 0, "C#1", "D#1") for number in (-1, 0)]
    scores = await board_of([*old, *new]).scores_since("main", NOW_MS)
    assert [(each.set_id, each.score) for each in scores] == [(f"{9:032x}", [2, 0])]
    assert len(await board_of([*old, *new]).scores_since("main", NOW_MS - 2 * DAY_MS)) == 2
    assert await board_of(old).scores_since("main", NOW_MS) == []


@pytest.mark.trio
@pytest.mark.parametrize("since", [0, 1, 2])
async def test_sets_since_a_time_are_whole(since: int) -> None:
    """A set is in the way of the limit of games that are read at first: its first game is the 65th."""
    cut = [stored(number, NOW_MS + 5 * number * MINUTE_MS, number > 0, "A#1", "B#1") for number in range(3)]
    more = [stored(100 + n, NOW_MS + DAY_MS + 5 * n * MINUTE_MS, n % 2, "C#1", "D#1") for n in range(62)]
    older = [stored(500 + n, NOW_MS - DAY_MS + 5 * n * MINUTE_MS, 0, "E#1", "F#1") for n in range(10)]
    sets = await board_of([*older, *cut, *more]).sets_since("main", cut[since].listed_at_ms)
    assert [len(each.games) for each in sets if each.games[0].game_id == cut[0].game_id] == [3]
    sets = await board_of([*older, *cut, *more]).sets_since("main", more[10].listed_at_ms)
    assert cut[1].game_id not in {each.games[0].game_id for each in sets}
