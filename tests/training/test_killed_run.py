"""A training set whose export was killed again and again: its files, and a small network that learns from them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from slpstream.training.windows import TrainingSet
from tests.replays import SLP, needs_shared

pytestmark = [
    needs_shared,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the test kills a group of processes with SIGKILL"),
]

KILLS, LEAST_KILLS_WITH_PARTS = 20, 10
MAX_PARTS_A_RUN = 6
DEADLINE_SECONDS = 120.0

Matrix = npt.NDArray[np.float32]

FRAMES, BATCH, STEPS, HIDDEN = 16, 256, 1500, 64
LEARNING_SECONDS = 60.0
STATE = ["position_x", "position_y", "facing_direction", "percent", "action_state_counter", "is_airborne"]
COLUMNS = [f"{p}_post_{name}" for p in ("p0", "p1") for name in STATE] + ["p0_pre_joystick_x"]
SCALE = np.array([0.01, 0.01, 1, 0.01, 0.02, 1] * 2 + [1], np.float32)


class Killed(NamedTuple):
    """A set that was finished after many kills."""

    out: Path
    undisturbed: dict[str, bytes]
    """The files of a set that was not disturbed."""
    completed: list[dict[str, bytes]]
    """The files of those that were complete between the kills, and of the last one."""
    kills_with_parts: int
    """Kills that left finished parts behind."""


def content(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def parts_of(out: Path) -> int:
    return len(list(out.glob("parts/part-*.json")))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Kill an export 20 times, most often after some more of its parts, and finish it."""
    folder = tmp_path_factory.mktemp("killed")
    environment = {**os.environ, "PYTHONHASHSEED": "random", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the runs begin faster, and most of them are killed soon

    def started(out: Path) -> subprocess.Popen[bytes]:
        options = ["--shard-mib", "1", "--jobs", "2", "--validation", "0.2", "--seed", "1"]
        arguments = [
            sys.executable,
            "-m",
            "slpstream",
            "export",
            "--to",
            "training",
            *options,
            "-o",
            str(out),
            str(SLP),
        ]
        return subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=environment
        )

    def finished(out: Path) -> dict[str, bytes]:
        started(out).wait()
        assert (out / "index.json").exists()
        return content(out)

    undisturbed, out, completed = finished(folder / "undisturbed"), folder / "set", []
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
        if not (out / "plan.json").exists():  # complete before it was killed: begin again
            completed.append(content(out))
            rmtree(out)
    completed.append(finished(out))
    return Killed(out, undisturbed, completed, kills_with_parts)


def test_shards_of_a_run_killed_20_times_equal_those_of_an_undisturbed_run(killed: Killed) -> None:
    assert len(killed.undisturbed) > 20
    for files in killed.completed:
        assert set(files) == set(killed.undisturbed)
        assert [name for name, data in files.items() if data != killed.undisturbed[name]] == []
    assert killed.kills_with_parts >= LEAST_KILLS_WITH_PARTS


def examples(batch: dict[str, Any]) -> tuple[Matrix, Matrix]:
    """The state and the stick of all frames of a window but the last, and the stick in the last one."""
    seen = np.stack([batch[name][:, :-1].astype(np.float32) for name in COLUMNS], axis=-1) * SCALE
    return np.nan_to_num(seen).reshape(len(seen), -1), batch["p0_pre_joystick_x"][:, -1:].copy()


class Network:
    """Two layers, trained by Adam."""

    def __init__(self, inputs: int) -> None:
        random = np.random.default_rng(0)
        self.weights: list[Matrix] = [
            (random.standard_normal((inputs, HIDDEN)) / np.sqrt(inputs)).astype(np.float32),
            np.zeros(HIDDEN, np.float32),
            (random.standard_normal((HIDDEN, 1)) / np.sqrt(HIDDEN)).astype(np.float32),
            np.zeros(1, np.float32),
        ]
        self._moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        self._steps = 0

    def __call__(self, seen: Matrix) -> tuple[Matrix, Matrix]:
        first, bias, second, offset = self.weights
        hidden: Matrix = np.tanh(seen @ first + bias)
        return hidden @ second + offset, hidden

    def learn(self, seen: Matrix, wanted: Matrix) -> None:
        predicted, hidden = self(seen)
        error = 2 * (predicted - wanted) / len(seen)
        back = (error @ self.weights[2].T) * (1 - hidden**2)
        self._steps += 1
        gradients = (seen.T @ back, back.sum(0), hidden.T @ error, error.sum(0))
        for place, gradient in enumerate(gradients):
            mean, square = self._moments[place]
            mean, square = mean + 0.1 * (gradient - mean), square + 0.001 * (gradient**2 - square)
            self._moments[place] = mean, square
            step = (mean / (1 - 0.9**self._steps)) / (np.sqrt(square / (1 - 0.999**self._steps)) + 1e-8)
            self.weights[place] = self.weights[place] - np.float32(0.001) * step


def test_a_small_network_learns_the_stick_from_them(killed: Killed) -> None:
    """Reads the set as anyone who trains a bot would read it, for a minute."""
    train = TrainingSet(killed.out, split="train")
    network = Network((FRAMES - 1) * len(COLUMNS))
    steps, epoch = 0, 0
    end = time.monotonic() + LEARNING_SECONDS
    while steps < STEPS or time.monotonic() < end:
        for batch in train.batches(FRAMES, BATCH, columns=COLUMNS, seed=epoch):
            network.learn(*examples(batch))
            steps += 1
        epoch += 1
    validation = TrainingSet(killed.out, split="validation")
    seen, wanted = examples(next(validation.batches(FRAMES, 1024, columns=COLUMNS, seed=0)))
    loss = float(((network(seen)[0] - wanted) ** 2).mean())
    guessed = float(((wanted.mean() - wanted) ** 2).mean())
    assert guessed > 0.05  # sticks move in these games
    assert loss < 0.5 * guessed
