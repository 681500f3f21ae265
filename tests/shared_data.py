"""Where the real replays lie: beside the project, never in it.

Outside CI a checkout without them skips the tests that need them and says so. In CI (`CI=true`) they must be there:
those tests then run and fail, so that a build without data is never green.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.project import ROOT

SHARED = ROOT.parent / "shared" / "data"
SLP = SHARED / "slp"

IN_CI = os.environ.get("CI") == "true"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir() and not IN_CI, reason=f"the real replays are not at {SHARED}; only CI insists on them"
)


def replays() -> list[Path]:
    """All real Slippi replays, by name. Empty outside CI when they are not here, for `parametrize`."""
    found = sorted(SLP.glob("*.slp"))
    if not found and IN_CI:
        raise FileNotFoundError(f"no replays in {SLP}")
    return found


def replay(name: str) -> bytes:
    """The bytes of one real replay: `replay("v3.18")`."""
    return (SLP / f"{name}.slp").read_bytes()
