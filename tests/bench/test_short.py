"""The short form of each benchmark runs and returns figures. Times are not checked."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.benchmarks import BENCHMARKS
from tests.browsers.chromium import CHROMIUM
from tests.project import IN_CI, ROOT

IN_THE_GATE = "games_query"
"""A benchmark of a few seconds. The others, some of which take half a minute, run in the release check."""
NAMES = [
    pytest.param(name, marks=[] if name == IN_THE_GATE else pytest.mark.release)
    for name in BENCHMARKS
    if name != "tournament"  # covered by test_tournament.py
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmarks read /proc")
@pytest.mark.parametrize("name", NAMES)
def test_benchmark_runs(name: str, tmp_path: Path) -> None:
    if name in ("overlay", "wall") and not CHROMIUM.exists() and not IN_CI:
        pytest.skip(f"there is no {CHROMIUM}")
    command = [sys.executable, "-m", "tests.bench", name, "--short", "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())["figures"]
    assert figures
    for figure in figures:
        assert f"| {figure['benchmark']} | " in done.stdout
