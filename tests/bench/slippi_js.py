"""slippi-js as a peer: node runs the npm package as a black box. Without it, ratios are omitted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.oracles import slippi_js

_SCRIPT = Path(__file__).with_suffix(".cjs")
_WARM_UP_ROUNDS = 5
_TIMEOUT_SECONDS = 120.0


def missing() -> str | None:
    """The reason why slippi-js cannot run here; `None` if it can."""
    return slippi_js.missing()


def name() -> str:
    """Name and version for reports."""
    return f"slippi-js {slippi_js.version()}"


def command(*arguments: str) -> list[str]:
    """The command line of the script."""
    return [shutil.which("node") or "node", str(_SCRIPT), *arguments]


def environment() -> dict[str, str]:
    """Environment variables with which the script finds the package."""
    return {**os.environ, "NODE_PATH": str(slippi_js.MODULES)}


def decode_seconds(replay: Path, rounds: int) -> list[float]:
    """CPU time of each round over a replay with the stream and parser, after a warm-up."""
    return _seconds("decode", replay, rounds)


def stats_seconds(replay: Path, rounds: int) -> list[float]:
    """Time of each round of `getStats` on a replay in memory, after a warm-up."""
    return _seconds("stats", replay, rounds)


def _seconds(mode: str, replay: Path, rounds: int) -> list[float]:
    done = subprocess.run(
        command(mode, str(replay), str(_WARM_UP_ROUNDS + rounds)),
        env=environment(),
        capture_output=True,
        check=True,
        timeout=_TIMEOUT_SECONDS,
    )
    microseconds: list[float] = json.loads(done.stdout)["microseconds"]
    return [value / 1e6 for value in microseconds[_WARM_UP_ROUNDS:]]
