"""`python -m tests.bench [NAME...] [--short] [--runs N] [--json FILE]`: runs benchmarks and prints the table."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.bench import how_far, machine
from tests.bench.benchmarks import BENCHMARKS
from tests.bench.report import Figure, Form, table


def main() -> None:
    """Runs what was asked for, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="The benchmarks and their targets.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default all")
    parser.add_argument("--short", action="store_true", help="the form that CI runs: seconds, and not to be judged")
    parser.add_argument("--runs", type=int, default=3, help="how often each is run; the figure is the median")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--write", action="store_true", help="with `fanout`: write the page on how far it goes")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if arguments.runs < 1:
        parser.error("--runs is at least 1")
    form = Form(short=arguments.short, runs=arguments.runs)
    facts = machine.facts()
    print("; ".join(f"{name}: {value}" for name, value in facts.items()))
    print("one run each, short: not to be judged\n" if form.short else f"medians of {form.runs} runs (least to most)\n")
    figures: list[Figure] = []
    for name in arguments.names or BENCHMARKS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures += BENCHMARKS[name](form)
    print(table(figures))
    if arguments.write and how_far.last is not None:
        how_far.write(how_far.last, "; ".join(f"{name}: {value}" for name, value in facts.items()))
    if arguments.json:
        content = {"machine": facts, "short": form.short, "figures": [figure.record() for figure in figures]}
        arguments.json.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
