"""What slippi-js says of a replay: the npm package, run as a black box in a process of its own.

It is LGPL and stays outside: `npm install --prefix tests/oracles` puts it into `tests/oracles/node_modules`, which git
ignores. `SLPSTREAM_ORACLES` names another `node_modules` folder that has it.
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

from tests.shared_data import IN_CI

HERE = Path(__file__).resolve().parent
MODULES = Path(os.environ.get("SLPSTREAM_ORACLES") or HERE / "node_modules")
PACKAGE = MODULES / "@slippi" / "slippi-js" / "package.json"


def missing() -> str | None:
    """Why slippi-js cannot run here, `None` when it can."""
    if shutil.which("node") is None:
        return "there is no node"
    if not PACKAGE.is_file():
        return f"slippi-js is not in {MODULES}; run: npm install --prefix tests/oracles"
    return None


needs_slippi_js = pytest.mark.skipif(missing() is not None and not IN_CI, reason=f"{missing()}; only CI insists on it")


def version() -> str:
    """The version that is installed."""
    return str(msgspec.json.decode(PACKAGE.read_bytes())["version"])


class SlippiJs:
    """A running process that is asked about one replay after the other."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, replay: Path) -> dict[str, Any]:
        """One line of what the script says, or `error`: frames has `settings`, `metadata`, `gameEnd`, `winners` and
        `frames`, each absent when it has none; stats has `stats` and `stadiumStats`."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(bytes(replay) + b"\n")
        stdin.flush()
        line = stdout.readline()
        assert line, "slippi-js has ended"
        said: dict[str, Any] = msgspec.json.decode(line)
        return said


@contextmanager
def slippi_js(script: Literal["frames", "stats"] = "frames") -> Iterator[SlippiJs]:
    """The process, which runs as long as the context."""
    reason = missing()
    assert reason is None, reason
    with subprocess.Popen(
        ["node", str(HERE / f"slippi_js_{script}.cjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it warns of replays that it finds odd
        bufsize=1 << 20,
        env={**os.environ, "NODE_PATH": str(MODULES)},
    ) as process:
        try:
            yield SlippiJs(process)
        finally:
            process.kill()
