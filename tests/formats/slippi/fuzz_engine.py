"""The process started by `tests.formats.slippi.fuzz`: libFuzzer around both reading paths. It does not return."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["slpstream"]):
    import slpstream.formats.slippi.reader
    import slpstream.formats.slippi.whole_game  # noqa: F401 -- instrumented here, used by the comparison

from tests.formats.slippi.agreement import assert_agree


def main() -> None:
    """Start the engine with the arguments of the process."""
    atheris.Setup(sys.argv, assert_agree)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
