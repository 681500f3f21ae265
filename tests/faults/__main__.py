"""`python -m tests.faults` runs the short forms of all faults; `--table` runs the long forms and writes the page."""

from __future__ import annotations

import argparse
import sys
import time

from tests.faults.matrix import FAULTS, PAGE, Fault, page
from tests.faults.scene import Outcome


def run(fault: Fault, times: int) -> Outcome:
    """Run one fault and print a line about it."""
    began = time.monotonic()
    outcome = fault.run(times)
    print(f"{fault.name}: {outcome}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return outcome


def main() -> int:
    """Run the faults. Returns 0 if no message was lost or duplicated."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--table", action="store_true", help="run the long forms, print the table and write the page")
    parser.add_argument("--only", default="", help="run only faults whose name contains this; write no page")
    parser.add_argument("--times", type=int, help="how often to run each fault")
    arguments = parser.parse_args()
    chosen = [fault for fault in FAULTS if arguments.only in fault.name]
    missing = [f"{fault.name}: {fault.unavailable}" for fault in chosen if fault.unavailable]
    if missing:
        print("\n".join(missing), file=sys.stderr)
        return 2
    outcomes = [run(fault, arguments.times or (fault.times if arguments.table else fault.short)) for fault in chosen]
    if arguments.table and not arguments.only:
        text = page(outcomes)
        print(text)
        if not arguments.times:
            PAGE.write_text(text, encoding="utf-8")
    return 1 if any(outcome.lost or outcome.duplicated for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
