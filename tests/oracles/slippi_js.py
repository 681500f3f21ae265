"""Run the npm package slippi-js as a black box in its own process, to compare its results with ours.

It is licensed under the LGPL and not part of the project: `npm install --prefix tests/oracles` installs it into
`tests/oracles/node_modules`, which git ignores. `SLPSTREAM_ORACLES` can name another `node_modules` folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from tests.project import IN_CI

HERE = Path(__file__).resolve().parent
MODULES = Path(os.environ.get("SLPSTREAM_ORACLES") or HERE / "node_modules")
PACKAGE = MODULES / "@slippi" / "slippi-js" / "package.json"


def missing() -> str | None:
    """The reason why slippi-js cannot run here; `None` if it can."""
    if shutil.which("node") is None:
        return "node is missing"
    if not PACKAGE.is_file():
        return f"slippi-js is not in {MODULES}; run: npm install --prefix tests/oracles"
    return None


needs_slippi_js = pytest.mark.skipif(missing() is not None and not IN_CI, reason=f"{missing()}; only CI requires it")


def version() -> str:
    """The installed version."""
    return str(msgspec.json.decode(PACKAGE.read_bytes())["version"])


class SlippiJs:
    """A running process that reads one replay after another."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, replay: Path) -> dict[str, Any]:
        """The script's results for a replay, or `error`.

        `frames` gives `settings`, `metadata`, `gameEnd`, `winners` and `frames`, if they exist. `stats` gives
        `stats` and `stadiumStats`.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(bytes(replay) + b"\n")
        stdin.flush()
        line = stdout.readline()
        assert line, "slippi-js has ended"
        results: dict[str, Any] = msgspec.json.decode(line)
        return results


@contextmanager
def slippi_js(script: Literal["frames", "stats"] = "frames") -> Iterator[SlippiJs]:
    """Run the process for the duration of the block."""
    reason = missing()
    assert reason is None, reason
    with subprocess.Popen(
        ["node", str(HERE / f"slippi_js_{script}.cjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # warnings about unusual replays
        bufsize=1 << 20,
        env={**os.environ, "NODE_PATH": str(MODULES)},
    ) as process:
        try:
            yield SlippiJs(process)
        finally:
            process.kill()
