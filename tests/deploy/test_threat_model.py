"""Each row of docs/explanation/threat_model.md names at least one test, and all named tests exist."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.project import ROOT

PAGE = (ROOT / "docs/explanation/threat_model.md").read_text(encoding="utf-8")
ROWS = [line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][2:]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))


def test_each_row_is_complete() -> None:
    assert len(ROWS) > 10
    for row in ROWS:
        attacker, threat, defence, tests = (cell.strip() for cell in row)
        assert attacker
        assert threat
        assert defence.endswith(".")
        named = re.findall(r"`([^`]+)`", tests)
        assert named, row
        assert set(named) <= set(NAMED)
        assert re.sub(r"`[^`]+`", "", tests).strip() == "", row


def test_page_fits_on_one_screen() -> None:
    assert len(PAGE.splitlines()) <= 40


@pytest.mark.slow
def test_named_tests_exist() -> None:
    """pytest collects each of them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *NAMED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    for name in NAMED:
        assert any(each == name or each.startswith(f"{name}::") for each in found), name
