"""Files whose bytes change in place, at the same size, are read again.

Such changes come from programs that set the size of a copy before filling it, editors, and `rsync --inplace`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
import trio

from slpstream.api import messages, read_game
from slpstream.daemon.station.station import Station
from slpstream.formats.interface import REST_SECONDS
from slpstream.formats.slippi.container import HEADER_BYTES, header, raw_length
from slpstream.sources.tail.tailer import COARSE_SECONDS
from slpstream.store import FILE_NAME, GameIndex, GamesQuery, open_database
from tests.daemons.station import log_of, running_station, until, whole_log
from tests.formats.games import games
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio
REPLAY = synthetic_match(frames=300)
METADATA_AT = REPLAY.rindex(b"U\x08metadata")


@asynccontextmanager
async def indexed_station(folder: Path) -> AsyncIterator[tuple[Station, GameIndex]]:
    (folder / "replays").mkdir(exist_ok=True)
    with closing(open_database(folder / FILE_NAME)) as database:
        index = GameIndex(database, lambda path: read_game(path).record())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            async with running_station(folder / "replays", index=index) as station:
                yield station, index
            nursery.cancel_scope.cancel()


async def end_reasons(index: GameIndex) -> list[str | None]:
    await index.written()
    page = await index.page(GamesQuery())
    return [game.reason for game in page.games]


def overwrite(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b", buffering=0) as file:
        file.seek(offset)
        file.write(data)


FILLED: dict[str, tuple[bytes, int]] = {
    "all zeros": (bytes(len(REPLAY)), 0),
    "a frame": (REPLAY[:60_000] + bytes(512) + REPLAY[60_512:], 60_000),
    "everything after a frame": (REPLAY[:30_000] + bytes(len(REPLAY) - 30_000), 30_000),
    "the metadata": (REPLAY[:METADATA_AT] + bytes(len(REPLAY) - METADATA_AT), METADATA_AT),
}


@pytest.mark.slow
@pytest.mark.parametrize("missing", FILLED)
async def test_damaged_file_is_read_again_once_its_bytes_are_there(tmp_path: Path, missing: str) -> None:
    content, offset = FILLED[missing]
    path = tmp_path / "replays" / "Game_1.slp"
    async with indexed_station(tmp_path) as (station, index), log_of(station) as received:
        path.write_bytes(content)
        await until(lambda: station.describe()["files"] == {"inProgress": 0, "finished": 1})
        await trio.sleep(0.2)
        overwrite(path, offset, REPLAY[offset:])
        expected = [message.json() for message in messages(path)]
        await until(lambda: set(expected) <= set(received))
        (game,) = station.channel.games[-1:]
        assert [message.json() for message in await whole_log(game)] == expected
        while await end_reasons(index) != ["game_end"]:
            await trio.sleep(0.01)


@pytest.mark.slow
async def test_file_is_read_again_while_it_is_filled_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "replays" / "Game_1.slp"
    async with indexed_station(tmp_path) as (station, index):
        path.write_bytes(bytes(len(REPLAY)))
        for at in range(0, len(REPLAY), 4096):
            overwrite(path, at, REPLAY[at : at + 4096])
            await trio.sleep(0.05)
        expected = [message.json() for message in messages(path)]
        while await end_reasons(index) != ["game_end"]:
            await trio.sleep(0.01)
        assert [message.json() for message in await whole_log(station.channel.games[-1])] == expected


async def test_old_file_that_was_not_read_in_this_run_is_indexed_again(tmp_path: Path) -> None:
    (tmp_path / "replays").mkdir()
    path = tmp_path / "replays" / "Game_1.slp"
    path.write_bytes(FILLED["all zeros"][0])
    os.utime(path, (1e9, 1e9))
    async with indexed_station(tmp_path) as (station, index):
        await until(lambda: index.waiting_files == 0)
        assert await end_reasons(index) == []
        overwrite(path, 0, REPLAY)
        while await end_reasons(index) != ["game_end"]:
            await trio.sleep(0.01)
        assert not station.channel.games, "it is not streamed"


@pytest.mark.slow
async def test_finished_file_that_is_only_touched_is_published_once(tmp_path: Path) -> None:
    path = tmp_path / "replays" / "Game_1.slp"
    async with indexed_station(tmp_path) as (station, _), log_of(station) as received:
        path.write_bytes(REPLAY)
        await until(lambda: station.describe()["files"] == {"inProgress": 0, "finished": 1})
        os.utime(path)
        await trio.sleep(COARSE_SECONDS + 0.2)
        assert received == [message.json() for message in messages(path)]


@pytest.mark.slow
async def test_file_written_in_one_go_is_streamed_once_its_bytes_are_there(tmp_path: Path) -> None:
    path = tmp_path / "replays" / "race.gci"
    content = games()["race.gci"]
    async with indexed_station(tmp_path) as (station, _), log_of(station) as received:
        path.write_bytes(bytes(len(content)))
        await until(lambda: station.describe()["files"] == {"inProgress": 0, "finished": 1})
        overwrite(path, 0, content)
        expected = [message.json() for message in messages(path)]
        with trio.fail_after(2 * COARSE_SECONDS + REST_SECONDS + 2):
            await until(lambda: received == expected)


@pytest.mark.slow
async def test_game_continues_when_only_the_header_changes(tmp_path: Path) -> None:
    """Tools repair the length in the header of a truncated replay, which changes no published message."""
    path, other = tmp_path / "Game_1.slp", synthetic_match(seed=2, frames=200)
    events = REPLAY[HEADER_BYTES : HEADER_BYTES + raw_length(REPLAY) - 2]  # without Game End
    async with running_station(tmp_path, stalled_seconds=0.1, idle_seconds=0.3) as station, log_of(station) as received:
        path.write_bytes(header(0) + events)
        await until(lambda: station.channel.current is not None)
        game = station.channel.current
        assert game is not None
        await until(lambda: station.state == "idle")
        (tmp_path / "Game_2.slp").write_bytes(header(0) + other[HEADER_BYTES : len(other) // 2])
        await until(lambda: game.stopped == "left")
        overwrite(path, 0, header(len(events)))
        await until(lambda: game.ended or len(station.channel.games) > 2)
        mark = f'"gameId":"{game.game_id}"'.encode()
        expected = [message.json() for message in messages(path)]
        await until(lambda: received[-1] == expected[-1])
        assert [message for message in received if mark in message] == expected
        assert [known.game_id for known in station.channel.games].count(game.game_id) == 1
