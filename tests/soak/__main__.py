"""`python -m tests.soak`: thirty minutes, and the curve."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.soak.curve import table, verdict
from tests.soak.run import soak


def main() -> int:
    """0 when what the daemon holds is flat."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--stations", type=int, default=32)
    parser.add_argument("--clients", type=int, default=64)
    given = parser.parse_args()
    seconds = given.minutes * 60
    with tempfile.TemporaryDirectory(prefix="slpstream-soak-") as folder:
        soaked = soak(
            Path(folder),
            seconds=seconds,
            stations=given.stations,
            clients=given.clients,
            every_seconds=1.0,
            say=lambda one: print(one, file=sys.stderr, flush=True) if int(one.seconds) % 60 == 0 else None,
        )
    print(table(soaked.samples))
    print(", ".join(f"{what} {count:,}" for what, count in sorted(soaked.counts.items())))
    found = verdict(soaked.samples, min(300.0, seconds / 3))
    print("\n".join(found) or "flat: descriptors, tasks, threads and memory at the end are those of the beginning")
    if soaked.exit_code or soaked.tracebacks:
        print(f"the daemon ended with {soaked.exit_code}", *soaked.tracebacks, sep="\n")
    return 1 if found or soaked.exit_code or soaked.tracebacks else 0


if __name__ == "__main__":
    sys.exit(main())
