"""An export that was killed repeatedly gives the same files as an undisturbed one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from shutil import rmtree

import pytest

from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.formats.slippi.game_start import FIELDS
from tests.formats.slippi.built import Built

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the test kills a group of processes with SIGKILL"),
]

GAMES, FRAMES = 60, 1000
KILLS, LEAST_KILLS_WITH_PARTS = 8, 4
MAX_PARTS_A_RUN = 6
DEADLINE_SECONDS = 120.0


def write_games(folder: Path) -> None:
    """Different games that differ only in their random seed."""
    folder.mkdir()
    data = bytearray(Built((3, 16, 0)).frames(-123, FRAMES - 123).end().closed())
    game_start_at = HEADER_BYTES + 1 + data[HEADER_BYTES + 1]
    [seed_at] = [game_start_at + field.offset for field in FIELDS if field.name == "random_seed"]
    for number in range(GAMES):
        data[seed_at : seed_at + 4] = number.to_bytes(4, "big")
        (folder / f"Game_{number:02}.slp").write_bytes(data)


def content(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def parts_of(out: Path) -> int:
    return len(list(out.glob("parts/part-*.json")))


def test_shards_of_a_killed_run_equal_those_of_an_undisturbed_run(tmp_path: Path) -> None:
    """Kill an export, most often after some more of its parts, and finish it."""
    games, out = tmp_path / "games", tmp_path / "set"
    write_games(games)
    environment = {**os.environ, "PYTHONHASHSEED": "random", "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the runs begin faster, and most of them are killed soon
    export = [sys.executable, "-m", "slpstream", "export", "--to", "training"]
    export += ["--shard-mib", "1", "--jobs", "2", "--validation", "0.2", "--seed", "1"]

    def started(out: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*export, "-o", str(out), str(games)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=environment,
        )

    def finished(out: Path) -> dict[str, bytes]:
        assert started(out).wait() == 0
        assert (out / "index.json").exists()
        return content(out)

    undisturbed, completed = finished(tmp_path / "undisturbed"), []
    assert len(undisturbed) > 20
    chance = random.Random(5)
    kills = kills_with_parts = 0
    while kills < KILLS:
        wanted = parts_of(out) + chance.randint(0, MAX_PARTS_A_RUN)
        run = started(out)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while run.poll() is None and not ((out / "plan.json").exists() and parts_of(out) >= wanted):
            if time.monotonic() > deadline:
                os.killpg(run.pid, signal.SIGKILL)
                pytest.fail("the export takes too long")
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.02))  # also between two parts, and while a shard is written
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            kills += 1
            kills_with_parts += parts_of(out) > 0
        run.wait()
        if not (out / "plan.json").exists():  # complete before it was killed: start again
            completed.append(content(out))
            rmtree(out)
    completed.append(finished(out))
    for files in completed:
        assert set(files) == set(undisturbed)
        assert [name for name, data in files.items() if data != undisturbed[name]] == []
    assert kills_with_parts >= LEAST_KILLS_WITH_PARTS
