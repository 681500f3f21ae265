"""A station stays with the game in progress, whatever else appears in its folder."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from slpstream.api import messages
from slpstream.daemon.station.station import Station
from slpstream.formats.interface import REST_SECONDS
from slpstream.game.log_writer import Batch
from slpstream.game.pipeline import Pipeline
from tests.daemons.played_game import PlayedGame, game_id_of
from tests.daemons.station import log_of, running_station, until
from tests.formats.games import games
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.trio
FRAMES = 600
quick_station = partial(running_station, stalled_seconds=0.3, idle_seconds=20.0)


def played(path: Path, seed: int) -> PlayedGame:
    return PlayedGame(path, synthetic_match(seed=seed, frames=FRAMES))


@asynccontextmanager
async def written_on(*growing: PlayedGame) -> AsyncIterator[None]:
    """Write a few hundred bytes of each game from time to time."""

    async def write() -> None:
        while True:
            for game in growing:
                game.write(300)
            await trio.sleep(0.02)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        yield
        nursery.cancel_scope.cancel()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "station"
    (path / "old").mkdir(parents=True)
    return path


def shown(station: Station) -> tuple[str, str | None]:
    game = station.channel.current
    return station.state, None if game is None else game.game_id


async def test_growth_counts_only_after_the_file_was_read_to_its_end(folder: Path) -> None:
    game = played(folder / "Game_1.slp", 1)
    game.write()
    async with quick_station(folder) as station:
        [followed] = station.files
        assert (followed.read_to_end, followed.seen_to_grow) == (True, False)
        game.write()
        await until(lambda: followed.seen_to_grow)


async def test_finished_files_do_not_displace_the_live_game(folder: Path) -> None:
    live = played(folder / "live.slp", 1)
    old = [synthetic_match(seed=seed, frames=200) for seed in range(10, 14)]
    async with quick_station(folder) as station:
        live.write()
        await until(lambda: shown(station) == ("playing", live.game_id))
        seen: set[tuple[str, str | None]] = set()
        async with written_on(live):
            for number, data in enumerate(old):
                (folder / "old" / f"{number}.slp").write_bytes(data)
            while sum(game.ended for game in station.channel.games) < len(old):
                seen.add(shown(station))
                await trio.sleep(0.001)
        await until(lambda: station.describe()["files"] == {"inProgress": 1, "finished": len(old)})
        assert seen == {("playing", live.game_id)}
        live.end()
        await until(lambda: shown(station) == ("idle", live.game_id))
        (folder / "old" / "later.slp").write_bytes(synthetic_match(seed=20, frames=100))
        await until(lambda: len(station.channel.games) == len(old) + 2 and len(station.files) == 0)
        assert shown(station) == ("idle", live.game_id)
        following = played(folder / "next.slp", 2)
        following.write()
        await until(lambda: shown(station) == ("playing", following.game_id))


async def test_finished_files_are_shown_until_a_game_is_played(folder: Path) -> None:
    """If replays are synchronised only after each game, a station has no other games to show."""
    async with quick_station(folder) as station:
        for seed in range(2):
            data = synthetic_match(seed=seed + 10, frames=100)
            game_id = game_id_of(data)
            (folder / f"{seed}.slp").write_bytes(data)
            await until(lambda: shown(station) == ("idle", game_id))  # noqa: B023
            assert station.channel.current is not None
            assert not station.channel.current.secondary
        live = played(folder / "live.slp", 1)
        live.write()
        await until(lambda: shown(station) == ("playing", live.game_id))


async def test_unfinished_copy_takes_over_only_once_it_grows(folder: Path) -> None:
    live, other = played(folder / "live.slp", 1), played(folder / "old" / "crashed.slp", 2)
    async with quick_station(folder) as station:
        live.write()
        async with written_on(live):
            await until(lambda: shown(station) == ("playing", live.game_id))
            await trio.sleep(0.1)
            other.write(20_000)
            await until(lambda: len(station.channel.games) == 2)
            await trio.sleep(0.2)
            assert shown(station) == ("playing", live.game_id)
            async with written_on(other):
                await until(lambda: shown(station) == ("playing", other.game_id))
            # it has stopped growing, and the first game still grows
            await until(lambda: shown(station) == ("playing", live.game_id))


@pytest.mark.parametrize("way", ["ended", "lost"])
async def test_station_falls_back_to_a_game_that_still_grows(way: str, folder: Path) -> None:
    first, second = played(folder / "first.slp", 1), played(folder / "second.slp", 2)
    async with quick_station(folder) as station:
        first.write()
        async with written_on(first):
            await until(lambda: shown(station) == ("playing", first.game_id))
            async with written_on(second):
                await until(lambda: shown(station) == ("playing", second.game_id))
            if way == "ended":
                second.end()
            else:
                second.path.unlink()
            await until(lambda: shown(station) == ("playing", first.game_id))


@pytest.mark.slow
async def test_files_written_in_one_go_do_not_displace_a_growing_game(folder: Path) -> None:
    live = played(folder / "live.slp", 1)
    async with quick_station(folder) as station:
        live.write()
        async with written_on(live):
            await until(lambda: shown(station) == ("playing", live.game_id))
            (folder / "race.gci").write_bytes(games()["race.gci"])
            await trio.sleep(REST_SECONDS)
            await until(lambda: any(game.ended for game in station.channel.games))
            assert shown(station) == ("playing", live.game_id)
        live.end()
        await until(lambda: shown(station) == ("idle", live.game_id))
        (folder / "race.rpl").write_bytes(games()["race.rpl"])
        await until(lambda: shown(station)[1] not in (None, live.game_id))


@pytest.mark.slow
async def test_file_written_in_one_go_is_decoded_in_a_thread(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    finish = Pipeline.finish

    def recorded_finish(self: Pipeline) -> Batch:
        threads.append(threading.current_thread())
        return finish(self)

    monkeypatch.setattr(Pipeline, "finish", recorded_finish)
    async with quick_station(folder) as station:
        (folder / "race.gci").write_bytes(games()["race.gci"])
        await until(lambda: any(game.ended for game in station.channel.games))
    assert threads
    assert threading.main_thread() not in threads


async def test_messages_of_a_copied_game_are_sent_once(folder: Path) -> None:
    live = played(folder / "live.slp", 1)
    async with quick_station(folder) as station, log_of(station) as received:
        live.write()
        await until(lambda: shown(station) == ("playing", live.game_id))
        part = folder / "part.tmp"
        for number in range(3):
            live.write()
            part.write_bytes(live.unfinished())
            part.rename(folder / "old" / f"{number}.slp")
        (folder / "old" / "finished.slp").write_bytes(live.whole)
        twin = played(folder / "twin.slp", 1)
        async with written_on(live, twin):
            await trio.sleep(0.5)
            assert shown(station) == ("playing", live.game_id)
        live.end()
        twin.end()
        await until(lambda: shown(station) == ("idle", live.game_id))
        (folder / "old" / "later.slp").write_bytes(live.whole)
        await until(lambda: len(station.files) == 0)
        await trio.sleep(0.1)
        assert received == [message.json() for message in messages(live.path)]
        await until(lambda: len(station.archive.newest()) == 7)


@pytest.mark.parametrize("way", ["lost", "stalled"])
async def test_log_continues_in_a_copy_that_grows(way: str, folder: Path) -> None:
    first, second = played(folder / "first.slp", 1), played(folder / "second.slp", 1)
    async with quick_station(folder) as station, log_of(station) as received:
        first.write(20_000)
        await until(lambda: shown(station) == ("playing", first.game_id))
        second.write(20_000)
        async with written_on(second):
            await trio.sleep(0.2)
            if way == "lost":
                first.path.unlink()
                await until(lambda: station.channel.current is not None and station.channel.current.stopped != "lost")
            else:
                await trio.sleep(0.4)
        second.end()
        expected = [message.json() for message in messages(second.path)]
        await until(lambda: len(received) >= len(expected))
        assert received == expected
        await until(lambda: shown(station) == ("idle", first.game_id))


async def test_game_that_is_written_again_is_played_again_and_early_copies_are_not_followed_for_good(
    folder: Path,
) -> None:
    first = played(folder / "0.slp", 1)
    first.write(20_000)
    (folder / "old" / "part.slp").write_bytes(first.unfinished())
    async with quick_station(folder) as station:
        for live in (first, played(folder / "1.slp", 1)):
            live.write()
            await until(lambda: shown(station) == ("playing", live.game_id))  # noqa: B023
            live.end()
            await until(lambda: shown(station) == ("idle", live.game_id))  # noqa: B023
            await until(lambda: len(station.files) == 0)
        assert len(station.channel.games) == 2


async def test_finished_file_completes_a_copy_that_was_cut_off(folder: Path) -> None:
    cut = played(folder / "cut.slp", 1)
    async with quick_station(folder) as station, log_of(station) as received:
        cut.write(20_000)
        await until(lambda: bool(received))
        (folder / "whole.slp").write_bytes(cut.whole)
        expected = [message.json() for message in messages(folder / "whole.slp")]
        await until(lambda: len(received) >= len(expected))
        assert received == expected
