"""A tournament of 16 setups: synthetic matches, all written at once by one process, as the games would.

    python -m tests.web.setups FOLDER

makes the matches, prints `ready`, waits for a line, and writes them into FOLDER/setup01 to FOLDER/setup16. In mid-game
it slows down, so that a test has time to look, until another line arrives; then it hurries to the end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio

from slpstream.api import messages
from slpstream.simulate.schedule import schedule
from tests.synthetic.match import synthetic_match

COUNT = 16
NAMES = tuple(f"setup{i + 1:02}" for i in range(COUNT))
STAGE_IDS = (31, 2, 3, 8, 28, 32)
FRAMES = 1500
HALF_TIME_SECONDS = 12.0
"""Game time at which it slows down; every match is longer."""
BEFORE, DURING, AFTER = 2.5, 0.1, 5.0
"""Speeds as multiples of real time."""
_TICK_SECONDS = 0.02


def match(i: int, frames: int = FRAMES) -> bytes:
    """The match of setup `i`: every stage, items, Ice Climbers, netplay, doubles."""
    return synthetic_match(
        seed=40 + i,
        frames=frames,
        stocks=1 if i % 4 == 1 else 4,
        stage_id=STAGE_IDS[i % len(STAGE_IDS)],
        players=4 if i in (6, 11) else 2,
        teams=i == 6,
        items=i % 3 == 0,
        followers=i % 5 == 1,
        rollbacks=i % 4 == 3,
    )


def path_of(folder: Path, i: int) -> Path:
    """Where the match of setup `i` is written."""
    return folder / NAMES[i] / f"Game_20250203T0405{i:02}.slp"


@contextmanager
def writer(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Starts the process. A first line on its stdin begins the matches, a second one lets them end."""
    for name in NAMES:
        (folder / name).mkdir()
    command = [sys.executable, "-m", "tests.web.setups", str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait(10)
        process.stdin.close()
        process.stdout.close()


class Ending(NamedTuple):
    """The end of a match."""

    game_id: str
    values: dict[int, tuple[float, int]]
    """Percent and stocks by player index, from the last frame that the player was in."""
    winners: list[int]
    stats: dict[str, Any]


def ending(path: Path) -> Ending:
    """The end of a match, read from the log of its file."""
    values: dict[int, tuple[float, int]] = {}
    winners: list[int] = []
    stats: dict[str, Any] = {}
    game_id = ""
    for message in messages(path, topics=("game", "frame", "stats")):
        line = msgspec.json.decode(message.json())
        if message.type == "frame":
            for index, player in line["frame"]["players"].items():
                values[int(index)] = (player["post"]["percent"], player["post"]["stocksRemaining"])
        elif message.type == "stats":
            stats = line["stats"]
        elif message.type == "game_end":
            game_id, winners = line["gameId"], [winner["playerIndex"] for winner in line["winners"]]
    return Ending(game_id, values, winners, stats)


def lines(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The log messages of one type, decoded."""
    for message in messages(path, topics=("game", "frame", "stats")):
        if message.type == kind:
            yield msgspec.json.decode(message.json())


class _Clock:
    """Game time, shared by all setups."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.let_end = False

    async def run(self) -> None:
        before = trio.current_time()
        while True:
            await trio.sleep(_TICK_SECONDS)
            now = trio.current_time()
            pace = AFTER if self.let_end else BEFORE if self.seconds < HALF_TIME_SECONDS else DURING
            self.seconds += (now - before) * pace
            before = now


async def _write(path: Path, data: bytes, clock: _Clock) -> None:
    """Writes a file in bursts like Dolphin, by that clock."""
    with path.open("xb", buffering=0) as file:
        for write in schedule(data, "dolphin"):
            while write.at_seconds > clock.seconds:
                await trio.sleep(_TICK_SECONDS)
            file.seek(write.offset)
            file.write(write.data)


async def _write_all(folder: Path, matches: list[bytes]) -> None:
    clock = _Clock()
    async with trio.open_nursery() as background:
        background.start_soon(clock.run)
        async with trio.open_nursery() as writing:
            for i, data in enumerate(matches):
                writing.start_soon(_write, path_of(folder, i), data, clock)
            await trio.to_thread.run_sync(sys.stdin.readline)
            clock.let_end = True
        background.cancel_scope.cancel()


def _main(folder: str) -> None:
    matches = [match(i) for i in range(COUNT)]
    print("ready", flush=True)
    sys.stdin.readline()
    trio.run(_write_all, Path(folder), matches)


if __name__ == "__main__":
    _main(*sys.argv[1:])
