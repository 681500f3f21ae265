"""`python -m tests.bench [NAME...] [--short] [--json FILE]`: runs benchmarks and prints the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from tests.bench.benchmarks import BENCHMARKS
from tests.bench.report import Figure, table


def main() -> None:
    """Runs what was asked for, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="The benchmarks and their targets.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default all")
    parser.add_argument("--short", action="store_true", help="the form that CI runs: seconds, and not to be judged")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{os.cpu_count()} cores, {platform.python_implementation()} {platform.python_version()}, load {load:.2f}\n")
    figures: list[Figure] = []
    for name in arguments.names or BENCHMARKS:
        sys.stderr.write(f"{name} ...\n")
        figures += BENCHMARKS[name](short=arguments.short)
    print(table(figures))
    if arguments.json:
        rows = [{**figure._asdict(), "met": figure.met} for figure in figures]
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
