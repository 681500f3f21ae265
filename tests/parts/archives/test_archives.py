"""Archives in watched folders: their games are indexed, served like files, and removed with their archive."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from slpstream.api import messages, read_codes, read_game
from slpstream.daemon.archived_games import read_archive
from slpstream.daemon.game_codes import GameCodes
from slpstream.daemon.games import DaemonGames
from slpstream.game.dolphin_queue import replay_path
from slpstream.parts.archives.search import ArchiveSearch, find_archives
from slpstream.store import FILE_NAME, GameIndex, GamesQuery, open_database
from slpstream.store.backfill import ArchivedGame
from slpstream.stream.channel import Hub
from slpstream.web.games import FramesQuery
from tests.daemons.station import TIMEOUT_SECONDS
from tests.parts.archives.games import GAMES, game
from tests.parts.archives.packing import COMPRESSED, KINDS, zipped

pytestmark = pytest.mark.trio
OLD_SECONDS = 1_700_000_000


def put(path: Path, data: bytes, age: int = 0) -> Path:
    path.write_bytes(data)
    os.utime(path, (OLD_SECONDS + age, OLD_SECONDS + age))
    return path


class Scene:
    """A running index of a folder with archives, without the rest of a daemon."""

    def __init__(self, folder: Path, index: GameIndex) -> None:
        self.folder = folder
        self.index = index
        self.games = DaemonGames(index, Hub(), trio.CapacityLimiter(2), lambda: [folder], GameCodes(index, read_codes))

    async def ids(self) -> dict[str, list[str]]:
        """The names of the files of each game."""
        await self.index.written()
        rows = (await self.index.page(GamesQuery(limit=100))).games
        found = [await self.games.game(row.game_id) for row in rows]
        return {one.game_id: [file.name for file in one.files] for one in found if one is not None}

    async def until(self, expected: Mapping[str, list[str]]) -> None:
        """Wait until the index has exactly these games and names of files."""
        while await self.ids() != expected:
            await trio.sleep(0.01)


@asynccontextmanager
async def scene(tmp_path: Path, read: Callable[[Path], Iterator[ArchivedGame]] = read_archive) -> AsyncIterator[Scene]:
    folder = tmp_path / "replays"
    folder.mkdir(exist_ok=True)
    index = GameIndex(open_database(tmp_path / FILE_NAME), lambda path: read_game(path).record(), read_archive=read)
    search = ArchiveSearch(index, search_seconds=0.01)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(index.run)
            nursery.start_soon(search.run, "main", folder)
            yield Scene(folder, index)
            nursery.cancel_scope.cancel()


def id_of(tmp_path: Path, data: bytes) -> str:
    return read_game(put(tmp_path / "plain.slp", data)).start.game_id


@pytest.mark.parametrize("kind", ["deflated.zip", "a.tar.gz", "lzma2.7z"])
async def test_games_in_archives_are_listed_and_served_like_files(tmp_path: Path, kind: str) -> None:
    async with scene(tmp_path) as here:
        put(here.folder / kind, KINDS[kind](GAMES))
        await here.until({id_of(tmp_path, data): [f"{kind}::{name}"] for name, data in GAMES.items()})
        for name, data in GAMES.items():
            game_id = id_of(tmp_path, data)
            replay = await here.games.replay(game_id)
            assert replay is not None
            with replay.file:
                assert (replay.name, replay.size_bytes, replay.file.read()) == (name.split("/")[-1], len(data), data)
            frames = await here.games.frames(game_id, FramesQuery())
            assert frames is not None
            plain = messages(put(tmp_path / "plain.slp", data), frames="finalized", topics=("frame",))
            numbers = [message for message in plain if message.type == "frame"]
            assert len(frames.frames) == len(numbers)
            assert (await here.games.stats(game_id)) is not None
            found = await here.index.game(game_id)
            assert found is not None
            assert replay_path(found) is None  # Dolphin cannot read archives


async def test_changed_archive_is_read_again_and_removed_archive_loses_its_games(tmp_path: Path) -> None:
    first, second, third = (id_of(tmp_path, game(number)) for number in range(3))
    async with scene(tmp_path) as here:
        path = put(here.folder / "a.zip", zipped({"a.slp": game(0), "b.slp": game(1)}))
        put(here.folder / "c.zip", zipped({"x.slp": game(1)}))
        await here.until({first: ["a.zip::a.slp"], second: ["a.zip::b.slp", "c.zip::x.slp"]})
        put(path, zipped({"a.slp": game(0), "c.slp": game(2)}), age=5)
        await here.until({first: ["a.zip::a.slp"], second: ["c.zip::x.slp"], third: ["a.zip::c.slp"]})
        path.unlink()
        await here.until({second: ["c.zip::x.slp"]})
    opened: list[Path] = []

    def read(path: Path) -> Iterator[ArchivedGame]:
        opened.append(path)
        return read_archive(path)

    async with scene(tmp_path, read) as here:
        put(here.folder / "later.zip", zipped({"a.slp": game(0)}))
        await here.until({first: ["later.zip::a.slp"], second: ["c.zip::x.slp"]})
    assert opened == [tmp_path / "replays" / "later.zip"], "the other one was read before the restart"


@pytest.mark.parametrize("ending", [".slp.gz", ".slpz"])
async def test_compressed_replays_are_files_of_their_games(tmp_path: Path, ending: str) -> None:
    async with scene(tmp_path) as here:
        put(here.folder / f"a{ending}", COMPRESSED[ending](game()))
        await here.until({id_of(tmp_path, game()): [f"a{ending}"]})
        replay = await here.games.replay(id_of(tmp_path, game()))
        assert replay is not None
        with replay.file:
            assert (replay.name, replay.file.read()) == ("a.slp", game())


async def test_broken_members_leave_the_others_in_the_index(tmp_path: Path) -> None:
    async with scene(tmp_path) as here:
        put(here.folder / "a.zip", zipped({"../out.slp": game(1), "text.slp": b"text", "a.slp": game()}))
        put(here.folder / "b.zip", b"no archive")
        await here.until({id_of(tmp_path, game()): ["a.zip::a.slp"]})


async def test_own_zips_are_ignored(tmp_path: Path) -> None:
    replays, zips = tmp_path / "replays", tmp_path / "replays" / "zips"
    (zips / "older").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(replays)
    (replays / "zips2").mkdir()
    for path in (replays / "a.zip", zips / "b.zip", zips / "older" / "c.zip", replays / "zips2" / "d.zip"):
        path.write_bytes(b"")
    expected = [replays / "a.zip", replays / "zips2" / "d.zip"]
    assert sorted(find_archives(replays, zips)) == expected
    assert sorted(find_archives(replays, tmp_path / "linked" / "zips")) == expected
    assert [path.name for path in sorted(find_archives(tmp_path / "linked", zips))] == ["a.zip", "d.zip"]
    assert find_archives(zips / "older", zips) == {}
    assert len(find_archives(replays, tmp_path / "elsewhere")) == 4
