"""A source against a simulated console: the recordings equal the games sent, whatever happens to the connection.

Determinism: memory streams, seeds, trio's autojump clock, blocking work inline; the wall clock is a constant.
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
from slpstream.parts.consoles.console import ConsoleSource
from slpstream.parts.consoles.recorder import Recorder
from slpstream.parts.consoles.recording import RecordingFile
from tests.marks import slow
from tests.parts.consoles.disks import Disk
from tests.parts.consoles.listeners import Notices
from tests.parts.consoles.recordings import recorder_of
from tests.parts.consoles.wii import Connector, Wii, raw_of
from tests.replays import replay, replay_path
from tests.synthetic.match import synthetic_match

SEEDS = [*range(2), *slow(*range(2, 6))]


@cache
def match(seed: int = 1, frames: int = 240) -> bytes:
    return raw_of(synthetic_match(seed=seed, frames=frames))


class Setup:
    """A console, its source and its recorder."""

    def __init__(self, folder: Path, wii: Wii, connector: Connector, notices: Notices, recorder: Recorder) -> None:
        self.folder = folder
        self.wii = wii
        self.connector = connector
        self.notices = notices
        self.recorder = recorder

    def files(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(self.folder.glob("*.slp"))]

    async def finish(self) -> None:
        """Wait until everything has arrived and is written."""
        await trio.sleep(30)


@asynccontextmanager
async def recording(folder: Path, wii: Wii, *, open_file: Any = RecordingFile) -> AsyncIterator[Setup]:
    notices = Notices()
    recorder = recorder_of(
        folder, notices, wall_clock=lambda: 1_700_000_000.0 + trio.current_time(), open_file=open_file
    )
    async with trio.open_nursery() as nursery:
        connector = wii.connector(nursery)
        source = ConsoleSource(connector, recorder, notices, rng=random.Random(1))
        nursery.start_soon(recorder.run)
        nursery.start_soon(source.run)
        yield Setup(folder, wii, connector, notices, recorder)
        nursery.cancel_scope.cancel()


def finished(data: bytes) -> bytes:
    """The events of a recording that must be finished."""
    assert int.from_bytes(data[11:15], "big"), "the raw length is not set"
    return raw_of(data)


@pytest.mark.trio
async def test_metadata(tmp_path: Path, autojump_clock: object) -> None:
    wii = Wii(nick="Wohnzimmer")
    async with recording(tmp_path / "wii", wii) as setup:
        await wii.play(match(), seconds=20)
        await setup.finish()
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
    assert metadata["players"] == theirs["players"]
    assert [player["names"]["code"] for player in metadata["players"].values()] == ["VIXN#101", "ALTE#202"]


OWN = ["singles_0.1", "duplicate_game_end_3.18", "ice_climbers_3.5", "home_run_3.18", "rollbacks_items_3.18"]
REAL = [name for name in ("v0.1", "v3.18", "duplicate_game_end", "ics", "shield_drop") if replay_path(name).exists()]


@pytest.mark.trio
@pytest.mark.parametrize("name", [*OWN, *REAL])
async def test_games_of_each_layout(tmp_path: Path, autojump_clock: object, name: str) -> None:
    wii = Wii(4)
    wii.break_probability = 0.02
    raw = raw_of(replay(name))
    async with recording(tmp_path / "wii", wii) as setup:
        await wii.play(raw, seconds=8, steps=40)
        await setup.finish()
    assert [finished(data) for data in setup.files()] == [raw]


def frames_of(path: Path) -> list[int]:
    return [m.frame for m in messages(path, frames="live") if m.type == "frame" and m.frame is not None]


@pytest.mark.trio
@pytest.mark.parametrize("seed", SEEDS)
async def test_ring_overflow_is_a_gap(tmp_path: Path, autojump_clock: object, seed: int) -> None:
    """A client that is away for too long misses only the overwritten bytes, and the gap is reported."""
    raw = match(2, 600)
    wii = Wii(seed, ring_bytes=len(raw) // 5)
    async with recording(tmp_path / "wii", wii) as setup, trio.open_nursery() as nursery:
        nursery.start_soon(lambda: wii.play(raw, seconds=60, steps=600))
        await trio.sleep(10 + seed)
        wii.held = True
        await trio.sleep(30)
        wii.held = False
        await trio.sleep(40)
    [data] = setup.files()
    [path] = (tmp_path / "wii").glob("*.slp")
    got = finished(data)
    [(begin, end)] = [(a - wii.game_base, b - wii.game_base) for a, b in wii.lost]
    assert setup.notices.gaps
    assert raw.startswith(got[: begin - 2000])
    assert raw.endswith(got[len(got) - (len(raw) - end) + 2000 :])
    whole = tmp_path / "whole.slp"
    whole.write_bytes(synthetic_match(seed=2, frames=600))
    frames, sent = frames_of(path), frames_of(whole)
    missing = sorted(set(sent) - set(frames))
    assert frames == sorted(set(frames)), "in order, none twice"
    assert missing == list(range(missing[0], missing[-1] + 1)), "one hole"
    # Only frames that the lost bytes touch are missing.
    per_frame = len(raw) / len(sent)
    assert len(missing) < (end - begin) / per_frame + 8
    metadata = open_replay(path).metadata
    assert metadata is not None
    assert len(metadata["gaps"]) >= 1
    reasons = [m.type for m in messages(path) if m.type == "game_end"]
    assert reasons == ["game_end"]


@pytest.mark.trio
async def test_restarted_daemon_continues_the_recording(tmp_path: Path, autojump_clock: object) -> None:
    """The console recognises the saved token."""
    wii = Wii(3)
    game = match()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: wii.play(game, seconds=40))
        for _ in range(4):
            async with recording(tmp_path / "wii", wii) as setup:
                await trio.sleep(7)
        async with recording(tmp_path / "wii", wii) as setup:
            await setup.finish()
    assert [finished(data) for data in setup.files()] == [game]
    assert len({token for _, token in wii.handshakes[1:]}) == 1
    assert wii.sent_bytes < len(game) * 1.2, "it was not sent again"


@pytest.mark.trio
@pytest.mark.parametrize("missing_bytes", [0, 1, 5])
async def test_console_with_unknown_token_sends_its_game_again(
    tmp_path: Path, autojump_clock: object, missing_bytes: int
) -> None:
    """The recording continues where it stopped, even in the middle of an event."""
    wii = Wii(3)
    game = match()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: wii.play(game, seconds=40))
        async with recording(tmp_path / "wii", wii) as setup:
            await trio.sleep(10)
        wii.tokens.clear()
        [path] = (tmp_path / "wii").glob("*.slp")
        path.write_bytes(path.read_bytes()[: path.stat().st_size - missing_bytes])
        (tmp_path / "wii" / ".resume.json").unlink()
        async with recording(tmp_path / "wii", wii) as setup:
            await trio.sleep(10)
            wii.tokens.clear()
            await setup.connector.drop()
            await setup.finish()
    assert [finished(data) for data in setup.files()] == [game]


@pytest.mark.trio
async def test_console_switched_off_during_a_game(tmp_path: Path, autojump_clock: object) -> None:
    """Afterwards it knows no tokens, its cursors start over, and another game is in progress."""
    first, second = match(1), match(2)
    wii = Wii(3)
    async with recording(tmp_path / "wii", wii) as setup:
        await wii.play(first[: len(first) // 2], seconds=10, end=False)
        setup.connector.away = True
        await setup.connector.drop()
        await trio.sleep(60)
        assert setup.notices.connection[-1][0] == "unreachable"
        setup.connector.wii = wii = Wii(5, origin=0)
        setup.connector.away = False
        await wii.play(second, seconds=10)
        await setup.finish()
    partial, whole = setup.files()
    assert finished(whole) == second
    assert first.startswith(finished(partial))
    assert len(first) // 2 - len(finished(partial)) < 600, "all whole events"


@pytest.mark.trio
async def test_console_with_another_client(tmp_path: Path, autojump_clock: object) -> None:
    """It accepts the connection, but answers the handshake only when the other client leaves."""
    wii = Wii()
    wii.answers = trio.Event()
    async with recording(tmp_path / "wii", wii) as setup:
        await trio.sleep(10)
        assert setup.notices.connection[-1][0] == "unreachable"
        wii.answers.set()
        await wii.play(match(), seconds=10)
        await setup.finish()
        assert setup.connector.attempts == 1
    assert [finished(data) for data in setup.files()] == [match()]


@pytest.mark.trio
async def test_relay_of_raw_events(tmp_path: Path, autojump_clock: object) -> None:
    """The launcher's relay sends each client the game from its beginning. Old consoles send `HELO` in between."""
    games = [match(1), match(2)]
    sent = bytearray()

    async def connect() -> trio.abc.Stream:
        ours, theirs = trio.testing.memory_stream_pair()
        await theirs.send_all(bytes(sent))
        streams.append(theirs)
        return ours

    streams: list[trio.abc.Stream] = []
    async with recording(tmp_path / "wii", Wii()) as setup:
        setup.connector.away = True
        async with trio.open_nursery() as nursery:
            source = ConsoleSource(connect, setup.recorder, setup.notices, rng=random.Random(1))
            nursery.start_soon(source.run)
            for game in games:
                sent.clear()
                for start in range(0, len(game), 8000):
                    part = game[start : start + 8000]
                    sent += part
                    if streams:
                        await streams[-1].send_all(part)
                    if start % 24_000 == 0:
                        await streams[-1].aclose() if streams else None
                        await trio.sleep(3)
                await trio.sleep(1)
                await streams[-1].send_all(b"HELO\0")
                await trio.sleep(1)
            nursery.cancel_scope.cancel()
    assert [finished(data) for data in setup.files()] == games


@pytest.mark.trio
@pytest.mark.parametrize("seed", SEEDS)
async def test_all_failures_together(tmp_path: Path, autojump_clock: object, seed: int) -> None:
    """Connections break, the console forgets its clients, the disk is full at times, and the daemon is restarted.

    Every game is recorded completely, and once.
    """
    wii = Wii(seed)
    rng = random.Random(seed)
    games = [match(n, 160) for n in (1, 2, 3)]
    disk = Disk()

    async def cause_failures() -> None:
        while True:
            await trio.sleep(rng.uniform(0.2, 3))
            disk.failing = rng.choice((None, None, errno.ENOSPC))
            disk.max_write_bytes = rng.choice((99, 999, 1 << 20))
            wii.break_probability = rng.choice((0, 0.3))
            if rng.random() < 0.2:
                wii.tokens.clear()

    async def play() -> None:
        for game in games:
            await wii.play(game, seconds=15, end=False)
            await trio.sleep(4)  # long enough for the client to reconnect and fetch the end
            wii.end_game()
            await trio.sleep(2)
        over.set()

    over = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(play)
        nursery.start_soon(cause_failures)
        while not over.is_set():
            async with recording(tmp_path / "wii", wii, open_file=disk.open) as setup:
                with trio.move_on_after(rng.uniform(3, 20)):
                    await over.wait()
                if not over.is_set():
                    disk.failing = None
        nursery.cancel_scope.cancel()
    disk.failing, disk.max_write_bytes, wii.break_probability = None, 1 << 20, 0
    async with recording(tmp_path / "wii", wii, open_file=disk.open) as setup:
        await setup.finish()
    assert [finished(data) for data in setup.files()] == games
    assert not setup.notices.gaps
