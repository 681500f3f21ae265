"""The short form of `python -m tests.hostile.fuzz`, which puts 10,000 mutated files into the folder of a daemon."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.hostile.fuzz import fuzz


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_mutated_files_do_no_harm(tmp_path: Path) -> None:
    outcome = fuzz(tmp_path, 300)
    assert outcome.alive
    assert outcome.exact
    assert not outcome.failures
    assert outcome.statuses[200] > 0
