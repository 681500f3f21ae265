"""Run the npm package slp-enforcer as a black box in its own process, to compare its controller check with ours.

It is licensed under the GPL and not part of the project; `slippi_js` describes the installation.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.oracles.slippi_js import HERE, MODULES
from tests.project import IN_CI

PACKAGE = MODULES / "slp-enforcer" / "package.json"

needs_slp_enforcer = pytest.mark.skipif(
    not PACKAGE.is_file() and not IN_CI,
    reason=f"slp-enforcer is not in {MODULES}; run: npm install --prefix tests/oracles; only CI requires it",
)


def version() -> str:
    """The installed version."""
    return str(msgspec.json.decode(PACKAGE.read_bytes())["version"])


def enforced(replays: Sequence[Path]) -> list[Any]:
    """Its findings about each replay."""
    run = subprocess.run(
        ["node", str(HERE / "slp_enforcer.mjs"), str(MODULES)],
        input=b"".join(bytes(path) + b"\n" for path in replays),
        stdout=subprocess.PIPE,
        check=True,
    )
    return [msgspec.json.decode(line) for line in run.stdout.splitlines()]
