"""`python -m tests.formats.slippi.fuzz [--seconds N]`: compares both reading paths on mutated, cut and spliced replays.

The engine is atheris (libFuzzer), guided by the coverage of our code. It starts from pieces of the real replays and of
replays by the project's own writer. Prints the number of inputs. An input on which the paths disagree is written to a
file, whose name is printed.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

_MAX_BYTES = 24_000
_FRAMES_PER_SEED = 24
_DONE = re.compile(r"^Done (\d+) runs in (\d+) second", re.MULTILINE)


def main() -> None:
    """Run the engine in a separate process, because it never returns, and report."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.formats.slippi.fuzz", description="Compares both reading paths on hostile bytes."
    )
    parser.add_argument("--seconds", type=int, default=3600, help="duration; default one hour")
    parser.add_argument(
        "--findings", type=Path, default=Path(), metavar="DIR", help="folder for inputs on which the paths disagree"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slpstream-fuzz-") as folder:
        seeds = write_seeds(Path(folder))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tests.formats.slippi.fuzz_engine", folder),
                *(f"-max_total_time={arguments.seconds}", f"-max_len={_MAX_BYTES}", "-timeout=60"),
                *("-rss_limit_mb=4096", f"-artifact_prefix={arguments.findings.resolve()}/"),
            ],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    found = _DONE.search(done.stderr)
    if done.returncode or found is None:
        print(done.stderr[-6000:], file=sys.stderr)
        print(f"fuzz: the paths disagree, or the engine failed (exit code {done.returncode})", file=sys.stderr)
        sys.exit(1)
    print(f"fuzz: {int(found[1]):,} inputs from {seeds} seeds in {found[2]} seconds; both paths agree on all of them")


def write_seeds(folder: Path) -> int:
    """Write the seeds and return their number. A long replay becomes its head, some of its frames, and its tail."""
    from tests.formats.slippi.built import built_replays
    from tests.formats.slippi.logs import event_boundaries
    from tests.replays import replays

    seeds = dict(built_replays())
    choice = random.Random(2026)
    for path in replays():
        data = path.read_bytes()
        if len(data) <= _MAX_BYTES:
            seeds[path.stem] = data
            continue
        events = event_boundaries(data[: 1 << 20])
        heads = [at for at in events if at <= _MAX_BYTES // 2][:6]
        starts = [at for at in events if data[at : at + 1] in (b"\x3a", b"\x37")]
        if not heads or len(starts) <= _FRAMES_PER_SEED:
            continue
        first = choice.randrange(len(starts) - _FRAMES_PER_SEED)
        middle = data[starts[first] : starts[first + _FRAMES_PER_SEED]]
        seeds[path.stem] = (data[: heads[-1]] + middle + data[-400:])[:_MAX_BYTES]
    for name, data in seeds.items():
        (folder / name).write_bytes(data)
    return len(seeds)


if __name__ == "__main__":
    main()
