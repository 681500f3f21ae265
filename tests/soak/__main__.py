"""`python -m tests.soak` runs the soak for thirty minutes and prints the resources over time."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.soak.curve import growing, table
from tests.soak.run import soak


def main() -> int:
    """Run the soak. Returns 0 if the daemon's resources do not grow."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--stations", type=int, default=32)
    parser.add_argument("--clients", type=int, default=64)
    arguments = parser.parse_args()
    seconds = arguments.minutes * 60
    with tempfile.TemporaryDirectory(prefix="slpstream-soak-") as folder:
        result = soak(
            Path(folder),
            seconds=seconds,
            stations=arguments.stations,
            clients=arguments.clients,
            sample_seconds=1.0,
            on_sample=lambda one: print(one, file=sys.stderr, flush=True) if int(one.seconds) % 60 == 0 else None,
        )
    print(table(result.samples))
    print(", ".join(f"{name} {count:,}" for name, count in sorted(result.counts.items())))
    growth = growing(result.samples, min(300.0, seconds / 3))
    print("\n".join(growth) or "flat: descriptors, tasks, threads and memory have not grown")
    if result.exit_code or result.tracebacks:
        print(f"the daemon exited with {result.exit_code}", *result.tracebacks, sep="\n")
    return 1 if growth or result.exit_code or result.tracebacks else 0


if __name__ == "__main__":
    sys.exit(main())
