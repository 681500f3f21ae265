"""A tournament of 16 setups: synthetic matches, written simultaneously by a thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

import msgspec

from slpstream.api import messages
from slpstream.formats.slippi.write_schedule import Write, schedule
from tests.synthetic.match import synthetic_match

COUNT = 16
NAMES = tuple(f"setup{i + 1:02}" for i in range(COUNT))
STAGE_IDS = (31, 2, 3, 8, 28, 32)
FRAMES = 1500
HALF_TIME_SECONDS = 12.0
"""Game time at which the matches slow down; every match is longer."""
BEFORE, DURING, AFTER = 2.5, 0.1, 5.0
"""Speeds as multiples of real time."""
_TICK_SECONDS = 0.02


def folders(base: Path) -> list[Path]:
    """New folders, one for each setup."""
    made = [base / name for name in NAMES]
    for folder in made:
        folder.mkdir()
    return made


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
def written(base: Path) -> Iterator[Callable[[], None]]:
    """Start all matches, which slow down in mid-game to give a test time. The yielded function lets them end."""
    writes = [(i, write) for i in range(COUNT) for write in schedule(match(i), "dolphin")]
    writes.sort(key=lambda each: each[1].at_seconds)
    ending, stop = Event(), Event()
    thread = Thread(target=_write, args=(base, writes, ending, stop))
    thread.start()
    try:
        yield ending.set
    finally:
        stop.set()
        thread.join()


def _write(base: Path, writes: list[tuple[int, Write]], ending: Event, stop: Event) -> None:
    """Write the files in bursts like Dolphin, by one clock of game time for all setups."""
    seconds, before = 0.0, time.monotonic()
    with ExitStack() as stack:
        files = [stack.enter_context(path_of(base, i).open("xb", buffering=0)) for i in range(COUNT)]
        for i, write in writes:
            while write.at_seconds > seconds:
                if stop.wait(_TICK_SECONDS):
                    return
                now = time.monotonic()
                pace = AFTER if ending.is_set() else BEFORE if seconds < HALF_TIME_SECONDS else DURING
                seconds, before = seconds + (now - before) * pace, now
            files[i].seek(write.offset)
            files[i].write(write.data)


class Ending(NamedTuple):
    """The end of a match."""

    game_id: str
    values: dict[int, tuple[float, int]]
    """Percent and stocks by player index, from the last frame with that player."""
    winners: list[int]
    stats: dict[str, Any]


def ending(path: Path) -> Ending:
    """Read the end of a match from the log of its file."""
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
