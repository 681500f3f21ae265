"""The fuzzer for some seconds; `python -m tests.formats.slippi.fuzz` runs it for an hour."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.project import IN_CI

SECONDS = 15


@pytest.mark.skipif(find_spec("atheris") is None and not IN_CI, reason="atheris is not installed (`--group peers`)")
def test_both_paths_agree_under_the_fuzzer(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.formats.slippi.fuzz",
        "--seconds",
        str(SECONDS),
        "--findings",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS * 10)
    assert done.returncode == 0, done.stderr
    inputs = re.search(r"fuzz: ([\d,]+) inputs", done.stdout)
    assert inputs is not None
    assert int(inputs[1].replace(",", "")) > 100
    assert list(tmp_path.iterdir()) == []
