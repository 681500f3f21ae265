"""The process that `tests.formats.slippi.fuzz` starts: libFuzzer around both reading paths. Does not return."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["slpstream"]):
    import slpstream.formats.slippi.reader
    import slpstream.formats.slippi.whole_game  # noqa: F401 -- instrumented here, used by the comparison

from tests.formats.slippi.agreement import assert_agree


def main() -> None:
    """Hands the arguments to the engine."""
    atheris.Setup(sys.argv, assert_agree)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
