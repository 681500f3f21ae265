"""`python -m tests.bench [NAME...] [--short] [--runs N] [--json FILE]` runs benchmarks and prints a table."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.bench import how_far, machine
from tests.bench.benchmarks import BENCHMARKS
from tests.bench.report import Figure, Form, table


def main() -> None:
    """Run the requested benchmarks one after another."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="The benchmarks and their targets.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run, of {', '.join(BENCHMARKS)}; all by default"
    )
    parser.add_argument(
        "--short",
        action="store_true",
        help="run the short form of CI; it takes seconds, and its figures are meaningless",
    )
    parser.add_argument("--runs", type=int, default=3, help="runs of each benchmark; the figure is their median")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures into a file")
    parser.add_argument(
        "--write", action="store_true", help="with `fanout`, write the section about several machines of `figures.md`"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    form = Form(short=arguments.short, runs=arguments.runs)
    facts = machine.facts()
    print("; ".join(f"{name}: {value}" for name, value in facts.items()))
    print(
        "short form: the figures are meaningless\n"
        if form.short
        else f"medians of {form.runs} runs (lowest to highest)\n"
    )
    figures: list[Figure] = []
    loops_milliseconds = []
    for name in arguments.names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        loops_milliseconds.append(machine.loop_milliseconds())
        figures += BENCHMARKS[name](form)
    note = "before each benchmark; where the machine is quiet, it always takes the same time"
    figures.append(Figure("loop of 100,000 additions", loops_milliseconds, "ms", None, note))
    print(table(figures))
    if arguments.write and how_far.last is not None:
        how_far.write(how_far.last, "; ".join(f"{name}: {value}" for name, value in facts.items()))
    if arguments.json:
        content = {"machine": facts, "short": form.short, "figures": [figure.record() for figure in figures]}
        arguments.json.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
