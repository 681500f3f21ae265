"""`python -m tests.hostile.fuzz [--inputs N]`: mutated files in a folder of a running daemon, and a canary station.

The files are written whole or in parts; some are renamed into the folder, overwritten or removed while they are read.
Meanwhile, everything that the daemon lists about them is requested. A game is played at the canary station throughout,
and its subscriber must receive every message. Prints the outcome; exit code 1 if the daemon ended, failed a request or
grew, or if the canary missed a message.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import quote

from tests.bench.machine import resident_megabytes
from tests.daemons.process import DaemonProcess, running
from tests.hostile.canary import Canary
from tests.hostile.mutations import Input, mutated, seeds

_BATCH = 50
_KEPT_FILES = 500
_PLACES = ("", "", "sub", "sub/deeper")
_CONFIG = """
[[stations]]
id = "canary"
folder = "{folder}/canary"
[[stations]]
id = "fuzz"
folder = "{folder}/fuzz"
[watch]
idle_seconds = 5.0
"""


class Outcome(NamedTuple):
    """The outcome of a run."""

    inputs: int
    seconds: float
    alive: bool
    statuses: Mapping[int, int]
    """Number of responses by status."""
    failures: list[str]
    """Lines of the log at level error or critical, and requests that failed."""
    expected: int
    exact: bool
    """Whether the canary's subscriber received exactly the expected messages."""
    megabytes: list[float]
    """Resident memory after each batch."""

    def growth(self) -> float:
        """The ratio of memory in the last third to memory in the second third. The first third fills the caches."""
        third = len(self.megabytes) // 3
        return median(self.megabytes[-third:]) / median(self.megabytes[third : 2 * third])

    def held(self) -> bool:
        """Whether the daemon passed all checks."""
        return self.alive and self.exact and not self.failures and self.growth() < 1.1

    def text(self) -> str:
        """The outcome as readable text."""
        statuses = ", ".join(f"{status}: {count:,}" for status, count in sorted(self.statuses.items()))
        return "\n".join(
            [
                f"{self.inputs:,} inputs in {self.seconds:.0f} s; the daemon {'lives' if self.alive else 'HAS ENDED'}",
                f"responses by status: {statuses}",
                f"canary: {self.expected:,} messages, {'exact' if self.exact else 'NOT EXACT'}",
                f"memory: {self.megabytes[-1]:.0f} MB at the end, last third to second: {self.growth():.2f}",
                *self.failures[:20],
            ]
        )


class _Requests:
    """Requests for everything that the daemon lists."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon
        self.statuses: Counter[int] = Counter()
        self.failures: list[str] = []

    def _get(self, path: str) -> None:
        try:
            with urllib.request.urlopen(self._daemon.url + path, timeout=20) as response:
                response.read()
                self.statuses[response.status] += 1
        except urllib.error.HTTPError as error:
            self.statuses[error.code] += 1
            if error.code >= 500:
                self.failures.append(f"{error.code} for {path}: {error.read(300)!r}")
        except OSError as error:
            self.failures.append(f"no response for {path}: {error}")

    def round(self, rng: random.Random) -> None:
        """Request the lists, and everything about some games."""
        for path in ("/v1/stations", "/v1/stations/fuzz", "/v1/stations/fuzz/set", "/metrics", "/readyz"):
            self._get(path)
        games = self._daemon.get("/v1/games?limit=200")["games"]
        self.statuses[200] += 1
        for game in rng.sample(games, min(3, len(games))):
            path = f"/v1/games/{quote(game['gameId'])}"
            for rest in ("", "/stats", "/frames?from=-123&to=60", "/replay"):
                self._get(path + rest)


def fuzz(folder: Path, inputs: int) -> Outcome:
    """Run a daemon over mutated files in `folder`."""
    files = seeds()
    rng = random.Random("places")
    for name in ("canary", "fuzz/sub/deeper"):
        (folder / name).mkdir(parents=True)
    config = folder / "slpstream.toml"
    config.write_text(_CONFIG.format(folder=folder))
    written: list[Path] = []
    megabytes: list[float] = []
    began = time.monotonic()
    with running(arguments=("--config", str(config))) as daemon:
        daemon.wait_ready()
        canary = Canary(daemon, "canary", folder / "canary" / "Game_1.slp")
        requests = _Requests(daemon)
        try:
            for number in range(inputs):
                _write(mutated(number, files), folder / "fuzz" / rng.choice(_PLACES), written, rng)
                if number % _BATCH == _BATCH - 1:
                    if daemon.process.poll() is not None:
                        break
                    requests.round(rng)
                    megabytes.append(resident_megabytes(daemon.process.pid)[0])
                    for old in written[:-_KEPT_FILES]:
                        old.unlink(missing_ok=True)
                    del written[:-_KEPT_FILES]
            alive = daemon.process.poll() is None
        finally:
            expected, exact = canary.finish()
        errors = [str(line)[:500] for line in daemon.lines if line.get("level") in ("error", "critical")]
        return Outcome(
            inputs,
            time.monotonic() - began,
            alive,
            requests.statuses,
            requests.failures + errors,
            expected,
            exact,
            megabytes,
        )


def _write(one: Input, folder: Path, written: list[Path], rng: random.Random) -> None:
    path = folder / one.name
    at = 0
    if rng.random() < 0.1 and len(written) > 1:  # another file replaces one that was read, or is being read
        other = rng.choice(written)
        if other.suffix == path.suffix:
            path = other
    hidden = path.with_name(f".{path.name}.part") if rng.random() < 0.2 else path
    with hidden.open("wb", buffering=0) as file:
        for length in one.parts:
            file.write(one.data[at : at + length])
            at += length
            if len(one.parts) > 1:
                time.sleep(0.005)
    if hidden != path:
        hidden.replace(path)
    written.append(path)
    if rng.random() < 0.05:
        path.unlink()


def main() -> int:
    """Run as a program. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slpstream-fuzz-") as folder:
        outcome = fuzz(Path(folder), arguments.inputs)
    print(outcome.text())
    return 0 if outcome.held() else 1


if __name__ == "__main__":
    sys.exit(main())
