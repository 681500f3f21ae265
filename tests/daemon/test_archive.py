"""The games that are over, by their files: what is said of them is what is there now, and nothing is held of those that
have gone."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.daemon.station.archive import Archive
from slpstream.daemon.station.followed_file import GamesByFile
from slpstream.daemon.station.station import Station
from slpstream.game.log_reader import GrowingLogReader, archived_game, peek_game_id
from slpstream.model.errors import CursorGone, NoSuchGame
from slpstream.model.messages import START, Cursor, Position
from slpstream.sources.tail import FileIdentity, TailedFile
from slpstream.stream import Game, LogConsumer
from slpstream.stream.log_consumer import ConsumerOffset
from tests.running_station import running_station, until
from tests.synthetic.match import synthetic_match

IDLE_SECONDS = 0.2


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.daemon.station.station._TICK_SECONDS", 0.01)


following = partial(running_station, stalled_seconds=0.1, idle_seconds=IDLE_SECONDS)


def names(station: Station) -> list[str]:
    """The files that are over, the newest first."""
    assert station.describe()["files"]["finished"] == len(station.recordings())
    return [recording["file"] for recording in station.recordings()]


@pytest.mark.trio
async def test_files_that_are_over_are_listed_as_they_are_now(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with following(tmp_path) as station:
        for number in range(3):
            (tmp_path / f"Game_{number}.slp").write_bytes(synthetic_match(seed=number, frames=130))
            await until(lambda: station.active_files == 0 and len(station.channel.games) == number + 1)  # noqa: B023
        assert sorted(names(station)) == ["Game_0.slp", "Game_1.slp", "Game_2.slp"]
        (tmp_path / "Game_0.slp").unlink()
        (tmp_path / "Game_1.slp").rename(tmp_path / "sub" / "moved.slp")
        await until(lambda: sorted(names(station)) == ["Game_2.slp", "sub/moved.slp"])
        (tmp_path / "Game_2.slp").write_bytes(synthetic_match(seed=5, frames=300))
        await until(lambda: len(station.channel.games) == 4)
        await until(lambda: sorted(names(station)) == ["Game_2.slp", "sub/moved.slp"])


@pytest.mark.trio
async def test_a_cursor_finds_a_game_under_its_new_name_and_not_when_it_has_gone(tmp_path: Path) -> None:
    ids = [a_game(tmp_path / f"Game_{number}.slp", number) for number in range(2)]
    async with following(tmp_path) as station:
        await until(lambda: len(names(station)) == 2)
        assert (await station.channel.locate(ids[1])).game_id == ids[1]
        (tmp_path / "Game_0.slp").rename(tmp_path / "renamed.slp")
        (tmp_path / "Game_1.slp").unlink()
        await until(lambda: names(station) == ["renamed.slp"])
        found = await station.channel.locate(ids[0])
        assert (await found.log_reader.messages("live", START))[0].type == "game_start"


@pytest.mark.trio
async def test_what_is_known_of_files_is_forgotten_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [a_game(tmp_path / f"Game_{number}.slp", number) for number in range(3)]
    files = [tailed(tmp_path / f"Game_{number}.slp", number) for number in range(3)]
    listed = list(files)
    archive = Archive(tmp_path, trio.CapacityLimiter(1), lambda: listed)
    looked_at: list[str] = []

    def look(path: Path) -> str | None:
        looked_at.append(path.name)
        return peek_game_id(path)

    monkeypatch.setattr("slpstream.daemon.station.archive.peek_game_id", look)
    assert [game.game_id for game in await archive.games_from(ids[0])] == ids[::-1]
    listed.remove(files[1])
    assert [game.game_id for game in await archive.games_from(ids[0])] == [ids[2], ids[0]]
    assert len(looked_at) == 3, "a file that has not changed is looked at once"
    with pytest.raises(NoSuchGame):
        await archive.games_from(ids[1])
    listed.append(files[1])
    assert len(await archive.games_from(ids[0])) == 3
    assert looked_at[3:] == ["Game_1.slp"], "it had gone, and nothing was kept of it"


@pytest.mark.trio
async def test_a_game_that_is_known_is_read_on_under_its_new_name(tmp_path: Path) -> None:
    """As organisers do after a set."""
    ids = [a_game(tmp_path / f"Game_{number}.slp", number) for number in range(2)]
    async with following(tmp_path) as station:
        games = [await station.channel.locate(game_id) for game_id in ids]
        for number, game in enumerate(games):
            (tmp_path / f"Game_{number}.slp").rename(tmp_path / f"Grand Finals {number}.slp")
            await until(lambda: f"Grand Finals {number}.slp" in names(station))  # noqa: B023
            assert await station.channel.locate(game.game_id) is game
            assert (await game.log_reader.messages("live", START))[0].type == "game_start"


@pytest.mark.trio
async def test_a_file_that_cannot_be_read_for_a_moment_is_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slpstream.stream.log_consumer._RETRY_SECONDS", 0.02)
    ids = [a_game(tmp_path / f"Game_{number}.slp", number) for number in range(2)]
    whole = [line.json() for number in range(2) for line in messages(tmp_path / f"Game_{number}.slp")]
    got: list[bytes] = []
    gone: list[str | None] = []
    full = True

    def look(path: Path) -> str | None:
        if full:
            raise OSError(errno.EMFILE, "Too many open files")
        return peek_game_id(path)

    monkeypatch.setattr("slpstream.daemon.station.archive.peek_game_id", look)
    async with following(tmp_path) as station, trio.open_nursery() as nursery:
        with pytest.raises(CursorGone, match="Too many open files"):
            await station.channel.locate(ids[0])

        async def listen() -> None:
            mark = ConsumerOffset(Cursor(ids[0], "live", START))
            async for batch in LogConsumer(station.channel, offsets=[mark]):
                got.extend(message.json() for message in batch.messages)
                gone.append(batch.gone)

        nursery.start_soon(listen)
        await trio.sleep(0.05)
        full = False
        await until(lambda: len(got) >= len(whole))
        assert got == whole
        assert not any(gone)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_a_share_that_comes_after_the_daemon_has_its_games(tmp_path: Path) -> None:
    away, share = tmp_path / "away", tmp_path / "share"
    away.mkdir()
    ids = [a_game(away / f"Game_{number}.slp", number) for number in range(3)]
    got: list[str] = []
    async with following(share) as station, trio.open_nursery() as nursery:
        assert station.state == "offline"

        async def listen() -> None:
            async for batch in LogConsumer(
                station.channel, offsets=[ConsumerOffset(Cursor(ids[0], "live", Position(10, 0)))]
            ):
                assert batch.gone is None
                if batch.game_id not in got:
                    got.append(batch.game_id)

        nursery.start_soon(listen)
        await trio.sleep(0.1)
        assert not got
        away.rename(share)
        await until(lambda: got == ids)
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_old_games_that_were_read_to_their_end_keep_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [a_game(tmp_path / f"Game_{number:02}.slp", number) for number in range(12)]
    forgotten: list[str] = []
    monkeypatch.setattr(GrowingLogReader, "forget", lambda reader: forgotten.append(reader._game_id))
    async with following(tmp_path) as station, trio.open_nursery() as nursery:
        for game_id in ids:
            await station.channel.locate(game_id)
        read: list[list[str]] = [[], []]

        async def listen(number: int) -> None:
            async for batch in LogConsumer(station.channel, offsets=[ConsumerOffset(Cursor(ids[0], "live", START))]):
                if batch.game_id not in read[number]:
                    read[number].append(batch.game_id)
                await trio.sleep(0.001 * number)

        for number in range(2):
            nursery.start_soon(listen, number)
        await until(lambda: set(forgotten) == set(ids))
        assert read == [ids, ids], "nothing is given back while another one still reads it"
        nursery.cancel_scope.cancel()


def test_games_are_held_as_long_as_they_can_go_on() -> None:
    known, left, gone, over = (a_known_game(number) for number in range(4))
    left.left = gone.left = True
    files = {game.game_id: tailed(Path(f"{at}.slp"), at) for at, game in enumerate((known, left, gone, over))}
    held = GamesByFile()
    for game in (known, left, gone, over):
        held.put(files[game.game_id], game)
    held.prune([known], lambda file: file is not files[gone.game_id])
    found = [held.find(files[game.game_id], game.game_id) for game in (known, left, gone, over)]
    assert found == [known, left, None, None]
    held.forget(left)
    assert held.find(files[left.game_id], left.game_id) is None
    assert held.find(tailed(Path("another name.slp"), 0), known.game_id) is known


def a_game(path: Path, number: int) -> str:
    """The id of a game that was over long ago, each a second after the one before."""
    path.write_bytes(synthetic_match(seed=number, frames=130))
    os.utime(path, (1_000_000 + number,) * 2)
    game_id = peek_game_id(path)
    assert game_id is not None
    return game_id


def a_known_game(number: int) -> Game:
    return archived_game(lambda: Path(f"{number}.slp"), number, f"{number:032}", trio.CapacityLimiter(1))


def tailed(path: Path, number: int) -> TailedFile:
    return TailedFile(path, FileIdentity(1, number + 1), 1000, number)
