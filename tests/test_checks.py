"""Format, lint, types and import rules: part of the tests, so that one command is all there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT

BIN = Path(sys.executable).parent

CHECKS = {
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "lint": ["ruff", "check", "--quiet", "."],
    "types": ["mypy"],
    "imports": ["lint-imports", "--no-cache"],
}


@pytest.mark.parametrize("check", CHECKS)
def test_check(check: str) -> None:
    program, *arguments = CHECKS[check]
    done = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_are_nouns_of_the_field() -> None:
    banned = {"utils", "util", "helpers", "helper", "manager", "handler", "handlers", "common", "misc"}
    names = {path.stem for path in (ROOT / "slpstream").rglob("*.py")}
    assert not names & banned


def test_modules_are_not_too_long() -> None:
    """Past 600 lines a module needs a reason, written at its top."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in (ROOT / "slpstream").rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > 600
    }
    assert not long
