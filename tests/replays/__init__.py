"""Finds the real replays, which are next to the project and never part of it.

Without them, tests that need them are skipped with a reason. In CI (`CI=true`) these tests run and fail instead, so
that a build without data is never green.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project import IN_CI, ROOT

SHARED = ROOT.parent / "shared" / "data"
SLP = SHARED / "slp"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir() and not IN_CI, reason=f"the real replays are not at {SHARED}; only CI requires them"
)


def replays() -> list[Path]:
    """All real Slippi replays, sorted by name, for `parametrize`. Empty if they are missing, except in CI."""
    found = sorted(SLP.glob("*.slp"))
    if not found and IN_CI:
        raise FileNotFoundError(f"no replays in {SLP}")
    return found


def replay(name: str) -> bytes:
    """The bytes of one real replay: `replay("v3.18")`."""
    return (SLP / f"{name}.slp").read_bytes()
