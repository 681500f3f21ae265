"""`python -m tests.faults`: plays faults. `--table` plays all long forms and writes the page."""

from __future__ import annotations

import argparse
import sys
import time

from tests.faults.matrix import FAULTS, PAGE, Fault, page
from tests.faults.scene import Outcome


def played(fault: Fault, times: int) -> Outcome:
    """One fault, with a line about it."""
    began = time.monotonic()
    outcome = fault.run(times)
    print(f"{fault.name}: {outcome}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return outcome


def main() -> int:
    """0 when nothing was lost and nothing doubled."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--table", action="store_true", help="the long forms; prints the table and writes the page")
    parser.add_argument("--only", default="", help="faults whose name has this in it; nothing is written")
    parser.add_argument("--times", type=int, help="instead of the long forms")
    given = parser.parse_args()
    chosen = [fault for fault in FAULTS if given.only in fault.name]
    missing = [f"{fault.name}: {fault.cannot}" for fault in chosen if fault.cannot]
    if missing:
        print("\n".join(missing), file=sys.stderr)
        return 2
    outcomes = [played(fault, given.times or (fault.times if given.table else fault.short)) for fault in chosen]
    if given.table and not given.only:
        text = page(outcomes)
        print(text)
        if not given.times:
            PAGE.write_text(text, encoding="utf-8")
    return 1 if any(outcome.lost or outcome.doubled for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
