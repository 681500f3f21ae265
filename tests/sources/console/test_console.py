"""A source against a console that speaks the protocol from bytes: what is recorded is what was sent, whatever the
connection does.

Determinism: memory streams, seeds, trio's autojump clock, blocking work in line; the wall clock is a constant.
"""

from __future__ import annotations

import errno
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.api import messages, open_replay
from slpstream.sources.console.console import ConsoleSource
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.recording import RecordingFile
from tests.shared_data import needs_shared, replay
from tests.sources.console.disks import Disk
from tests.sources.console.listeners import Told, inline
from tests.sources.console.wii import Connector, Wii, raw_of
from tests.synthetic.match import synthetic_match

SEEDS = range(6)


@cache
def match(seed: int = 1, frames: int = 240) -> bytes:
    return raw_of(synthetic_match(seed=seed, frames=frames))


class Setup:
    """A console, its source and its recorder."""

    def __init__(self, folder: Path, wii: Wii, connector: Connector, told: Told, recorder: Recorder) -> None:
        self.folder, self.wii, self.connector, self.told, self.recorder = folder, wii, connector, told, recorder

    def files(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.folder.glob("*.slp"))]

    async def quiet(self) -> None:
        """Until all has come and is written."""
        await trio.sleep(30)


@asynccontextmanager
async def setup(
    folder: Path, wii: Wii, *, open_file: Any = RecordingFile, max_unwritten_bytes: int = 1 << 20
) -> AsyncIterator[Setup]:
    told = Told()
    recorder = Recorder(
        folder,
        told,
        played_on="nintendont",
        max_unwritten_bytes=max_unwritten_bytes,
        in_thread=inline,
        wall_clock=lambda: 1_700_000_000.0 + trio.current_time(),
        open_file=open_file,
    )
    async with trio.open_nursery() as nursery:
        connector = wii.connector(nursery)
        source = ConsoleSource(connector, recorder, told, chance=random.Random(1))
        nursery.start_soon(recorder.run)
        nursery.start_soon(source.run)
        yield Setup(folder, wii, connector, told, recorder)
        nursery.cancel_scope.cancel()


def finished(data: bytes) -> bytes:
    """The events of a recording, which must be finished."""
    assert int.from_bytes(data[11:15], "big"), "the raw length is not set"
    return raw_of(data)


@pytest.mark.trio
@pytest.mark.parametrize("seed", SEEDS)
async def test_games_with_breaks(tmp_path: Path, autojump_clock: object, seed: int) -> None:
    """Done when 1: disconnects at random, and everything is there once."""
    wii = Wii(seed)
    wii.breaks = 0.2
    games = [match(1), match(2), match(3)]
    async with setup(tmp_path / "wii", wii) as at:
        for game in games:
            await wii.play(game, seconds=20)
            await trio.sleep(1 + wii.chance.random() * 5)
        await at.quiet()
    assert [finished(data) for data in at.files()] == games
    assert not at.told.gaps
    assert len(wii.handshakes) > 10
    assert at.told.received_bytes >= sum(map(len, games))


@pytest.mark.trio
async def test_metadata(tmp_path: Path, autojump_clock: object) -> None:
    wii = Wii(nick="Wohnzimmer")
    async with setup(tmp_path / "wii", wii) as at:
        await wii.play(match(), seconds=20)
        await at.quiet()
    [path] = (tmp_path / "wii").glob("*.slp")
    assert path.name.startswith("Game_20231114T") or path.name.startswith("Game_20231115T")
    metadata = open_replay(path).metadata
    assert metadata is not None
    original = tmp_path / "original.slp"
    original.write_bytes(synthetic_match(seed=1, frames=240))
    theirs = open_replay(original).metadata
    assert theirs is not None
    assert metadata["startAt"] == "2023-11-14T22:13:20Z"
    assert metadata["consoleNick"] == "Wohnzimmer"
    assert metadata["playedOn"] == "nintendont"
    assert metadata["lastFrame"] == theirs["lastFrame"]
    used = {index: player["characters"] for index, player in theirs["players"].items()}
    assert {index: player["characters"] for index, player in metadata["players"].items()} == used


@needs_shared
@pytest.mark.trio
@pytest.mark.parametrize("name", ["v0.1", "v3.18", "duplicate_game_end", "ics", "shield_drop"])
async def test_real_games(tmp_path: Path, autojump_clock: object, name: str) -> None:
    wii = Wii(4)
    wii.breaks = 0.02
    raw = raw_of(replay(name))
    async with setup(tmp_path / "wii", wii) as at:
        await wii.play(raw, seconds=8, steps=40)
        await at.quiet()
    assert [finished(data) for data in at.files()] == [raw]


def frames_of(path: Path) -> list[int]:
    return [m.frame for m in messages(path, frames="live") if m.type == "frame" and m.frame is not None]


@pytest.mark.trio
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_ring_that_overflows(tmp_path: Path, autojump_clock: object, seed: int) -> None:
    """A client that is away for too long misses what was overwritten, and nothing else; that is said."""
    raw = match(2, 600)
    wii = Wii(seed, ring_bytes=len(raw) // 5)
    async with setup(tmp_path / "wii", wii) as at, trio.open_nursery() as nursery:
        nursery.start_soon(lambda: wii.play(raw, seconds=60, steps=600))
        await trio.sleep(10 + seed)
        wii.held = True
        await trio.sleep(30)
        wii.held = False
        await trio.sleep(40)
    [data] = at.files()
    [path] = (tmp_path / "wii").glob("*.slp")
    got = finished(data)
    [(begin, end)] = [(a - wii.game_base, b - wii.game_base) for a, b in wii.lost]
    assert at.told.gaps
    assert raw.startswith(got[: begin - 2000])
    assert raw.endswith(got[len(got) - (len(raw) - end) + 2000 :])
    whole = tmp_path / "whole.slp"
    whole.write_bytes(synthetic_match(seed=2, frames=600))
    frames, sent = frames_of(path), frames_of(whole)
    missing = sorted(set(sent) - set(frames))
    assert frames == sorted(set(frames)), "in order, none twice"
    assert missing == list(range(missing[0], missing[-1] + 1)), "one hole"
    # What is missing are the frames that the lost bytes touch, and no other.
    per_frame = len(raw) / len(sent)
    assert len(missing) < (end - begin) / per_frame + 8
    metadata = open_replay(path).metadata
    assert metadata is not None
    assert len(metadata["gaps"]) >= 1
    reasons = [m.type for m in messages(path) if m.type == "game_end"]
    assert reasons == ["game_end"]


@pytest.mark.trio
async def test_a_daemon_that_is_started_again(tmp_path: Path, autojump_clock: object) -> None:
    """The unfinished recording goes on: the console is asked with the token that was kept."""
    wii = Wii(3)
    game = match()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: wii.play(game, seconds=40))
        for _ in range(4):
            async with setup(tmp_path / "wii", wii) as at:
                await trio.sleep(7)
        async with setup(tmp_path / "wii", wii) as at:
            await at.quiet()
    assert [finished(data) for data in at.files()] == [game]
    assert len({token for _, token in wii.handshakes[1:]}) == 1
    assert wii.sent_bytes < len(game) * 1.2, "it was not sent again"


@pytest.mark.trio
@pytest.mark.parametrize("cut", [0, 1, 5])
async def test_a_console_that_does_not_know_the_token(tmp_path: Path, autojump_clock: object, cut: int) -> None:
    """It sends its game again from the beginning: the recording goes on where it stopped, even inside an event."""
    wii = Wii(3)
    game = match()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: wii.play(game, seconds=40))
        async with setup(tmp_path / "wii", wii) as at:
            await trio.sleep(10)
        wii.tokens.clear()
        [path] = (tmp_path / "wii").glob("*.slp")
        path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
        (tmp_path / "wii" / ".resume.json").unlink()
        async with setup(tmp_path / "wii", wii) as at:
            await trio.sleep(10)
            wii.tokens.clear()
            await at.connector.drop()
            await at.quiet()
    assert [finished(data) for data in at.files()] == [game]


@pytest.mark.trio
async def test_a_console_that_is_switched_off_in_a_game(tmp_path: Path, autojump_clock: object) -> None:
    """It knows nothing any more, its cursors begin anew, and another game is on."""
    first, second = match(1), match(2)
    wii = Wii(3)
    async with setup(tmp_path / "wii", wii) as at:
        await wii.play(first[: len(first) // 2], seconds=10, end=False)
        at.connector.away = True
        await at.connector.drop()
        await trio.sleep(60)
        assert at.told.said[-1][0] == "unreachable"
        at.connector.wii = wii = Wii(5, origin=0)
        at.connector.away = False
        await wii.play(second, seconds=10)
        await at.quiet()
    cut, whole = at.files()
    assert finished(whole) == second
    assert first.startswith(finished(cut))
    assert len(first) // 2 - len(finished(cut)) < 600, "all whole events"


@pytest.mark.trio
async def test_attempts_become_rarer(tmp_path: Path, autojump_clock: object) -> None:
    wii = Wii()
    async with setup(tmp_path / "wii", wii) as at:
        at.connector.away = True
        await trio.sleep(1)
        await at.connector.drop()
        began = at.connector.attempts
        await trio.sleep(120)
        many = at.connector.attempts - began
        await trio.sleep(120)
        assert 12 <= at.connector.attempts - began - many <= 18
        assert many > 13
        at.connector.away = False
        await trio.sleep(11)
        assert at.told.said[-1][0] == "connected"


@pytest.mark.trio
async def test_a_console_that_has_another_client(tmp_path: Path, autojump_clock: object) -> None:
    """It takes the connection and says nothing; when the other client leaves it answers to what was sent long ago."""
    wii = Wii()
    wii.answers = trio.Event()
    async with setup(tmp_path / "wii", wii) as at:
        await trio.sleep(10)
        assert at.told.said[-1][0] == "unreachable"
        wii.answers.set()
        await wii.play(match(), seconds=10)
        await at.quiet()
        assert at.connector.attempts == 1
    assert [finished(data) for data in at.files()] == [match()]


@pytest.mark.trio
async def test_a_game_that_was_over_while_nobody_listened(tmp_path: Path, autojump_clock: object) -> None:
    """A console that knows us finishes the game before."""
    wii = Wii(3)
    games = [match(1), match(2)]
    async with setup(tmp_path / "wii", wii) as at:
        await wii.play(games[0][:20_000], seconds=5)
        at.connector.away = True
        await at.connector.drop()
        wii.write(games[0][20_000:])
        await trio.sleep(20)
        at.connector.away = False
        await wii.play(games[1], seconds=20)
        await at.quiet()
    assert [finished(data) for data in at.files()] == games


@pytest.mark.trio
async def test_a_relay_of_bare_events(tmp_path: Path, autojump_clock: object) -> None:
    """The launcher's relay says a game from its beginning to each client; old consoles say `HELO` in between."""
    games = [match(1), match(2)]
    said = bytearray()

    async def connect() -> trio.abc.Stream:
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.send_all(bytes(said))
        streams.append(theirs)
        return ours

    streams: list[trio.abc.Stream] = []
    async with setup(tmp_path / "wii", Wii()) as at:
        at.connector.away = True
        async with trio.open_nursery() as nursery:
            source = ConsoleSource(connect, at.recorder, at.told, chance=random.Random(1))
            nursery.start_soon(source.run)
            for game in games:
                said.clear()
                for start in range(0, len(game), 8000):
                    part = game[start : start + 8000]
                    said += part
                    if streams:
                        await streams[-1].send_all(part)
                    if start % 24_000 == 0:
                        await streams[-1].aclose() if streams else None
                        await trio.sleep(3)
                await trio.sleep(1)
                await streams[-1].send_all(b"HELO\0")
                await trio.sleep(1)
            nursery.cancel_scope.cancel()
    assert [finished(data) for data in at.files()] == games


@pytest.mark.trio
@pytest.mark.parametrize("seed", SEEDS)
async def test_everything_at_once(tmp_path: Path, autojump_clock: object, seed: int) -> None:
    """Connections break, the console forgets its clients, the disk is full now and then, the daemon is started again:
    every game is there, whole and once."""
    wii = Wii(seed)
    chance = random.Random(seed)
    games = [match(n, 160) for n in (1, 2, 3)]
    disk = Disk()

    async def disturb() -> None:
        while True:
            await trio.sleep(chance.uniform(0.2, 3))
            disk.failing = chance.choice((None, None, errno.ENOSPC))
            disk.max_at_once = chance.choice((99, 999, 1 << 20))
            wii.breaks = chance.choice((0, 0.3))
            if chance.random() < 0.2:
                wii.tokens.clear()

    async def play() -> None:
        for game in games:
            await wii.play(game, seconds=15, end=False)
            await trio.sleep(4)  # in this time nobody is away for long, so that nothing is lost
            wii.end_game()
            await trio.sleep(2)
        over.set()

    over = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(play)
        nursery.start_soon(disturb)
        while not over.is_set():
            async with setup(tmp_path / "wii", wii, open_file=disk.open) as at:
                with trio.move_on_after(chance.uniform(3, 20)):
                    await over.wait()
                if not over.is_set():
                    disk.failing = None
        nursery.cancel_scope.cancel()
    disk.failing, disk.max_at_once, wii.breaks = None, 1 << 20, 0
    async with setup(tmp_path / "wii", wii, open_file=disk.open) as at:
        await at.quiet()
    assert [finished(data) for data in at.files()] == games
    assert not at.told.gaps
