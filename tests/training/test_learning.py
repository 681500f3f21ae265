"""A small network learns from a training set, read as anyone who trains a bot would read it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from slpstream.training.windows import TrainingSet
from tests.shared_data import SHARED, SLP, needs_shared

Matrix = npt.NDArray[np.float32]

FRAMES, BATCH, STEPS, HIDDEN = 16, 256, 1500, 64
STATE = ["position_x", "position_y", "facing_direction", "percent", "action_state_counter", "is_airborne"]
COLUMNS = [f"{p}_post_{name}" for p in ("p0", "p1") for name in STATE] + ["p0_pre_joystick_x"]
SCALE = np.array([0.01, 0.01, 1, 0.01, 0.02, 1] * 2 + [1], np.float32)


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


@needs_shared
@pytest.mark.slow
def test_a_small_network_learns_the_stick(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "slpstream", "export", "--to", "training", "--validation", "0.2", "--seed", "1"]
    folders = [str(SLP), str(SHARED / "controllers")]
    subprocess.run([*command, "-o", str(tmp_path / "set"), *folders], check=False, capture_output=True)
    train = TrainingSet(tmp_path / "set", split="train")
    network = Network((FRAMES - 1) * len(COLUMNS))
    steps, epoch = 0, 0
    while steps < STEPS:
        for batch in train.batches(FRAMES, BATCH, columns=COLUMNS, seed=epoch):
            network.learn(*examples(batch))
            steps += 1
        epoch += 1
    validation = TrainingSet(tmp_path / "set", split="validation")
    seen, wanted = examples(next(validation.batches(FRAMES, 4096, columns=COLUMNS, seed=0)))
    loss = float(((network(seen)[0] - wanted) ** 2).mean())
    guessed = float(((wanted.mean() - wanted) ** 2).mean())
    assert guessed > 0.05  # sticks move in these games
    assert loss < 0.5 * guessed
