"""slippi-js as a peer: the npm package, run as a black box by node. Where it is not, there are no ratios."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from tests.oracles import slippi_js

_SCRIPT = Path(__file__).with_suffix(".cjs")
_WARM_UP_ROUNDS = 5
_SECONDS_AT_MOST = 120.0


def missing() -> str | None:
    """Why it cannot run here; `None` when it can."""
    return slippi_js.missing()


def name() -> str:
    """What it is called in a report."""
    return f"slippi-js {slippi_js.version()}"


def command(*arguments: str) -> list[str]:
    """The command line of the script."""
    return [shutil.which("node") or "node", str(_SCRIPT), *arguments]


def environment() -> dict[str, str]:
    """The environment in which it finds the package."""
    return {**os.environ, "NODE_PATH": str(slippi_js.MODULES)}


def decode_seconds(replay: Path, rounds: int) -> list[float]:
    """CPU time of each round over a replay, by its stream and parser, once its compiler is warm."""
    return _seconds("decode", replay, rounds)


def frames_seconds(replay: Path, rounds: int) -> list[float]:
    """Time of each round of reading all frames of a replay from a buffer, once its compiler is warm."""
    return _seconds("frames", replay, rounds)


def stats_seconds(replay: Path, rounds: int) -> list[float]:
    """Time of each round of `getStats` of a replay from a buffer, once its compiler is warm."""
    return _seconds("stats", replay, rounds)


def _seconds(mode: str, replay: Path, rounds: int) -> list[float]:
    done = subprocess.run(
        command(mode, str(replay), str(_WARM_UP_ROUNDS + rounds)),
        env=environment(),
        capture_output=True,
        check=True,
        timeout=_SECONDS_AT_MOST,
    )
    microseconds: list[float] = json.loads(done.stdout)["microseconds"]
    return [value / 1e6 for value in microseconds[_WARM_UP_ROUNDS:]]
