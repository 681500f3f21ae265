"""Format, lint, types and import layers: the pre-commit hooks, run over the whole checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import ROOT

BIN = Path(sys.executable).parent
HOOKS = ROOT / ".pre-commit-config.yaml"


def test_all_hooks_pass() -> None:
    entries = re.findall(r"entry: uv run --no-sync (\S+)(.*)", HOOKS.read_text(encoding="utf-8"))
    assert [program for program, _ in entries] == ["ruff", "ruff", "mypy", "lint-imports"]
    failed = []
    for program, arguments in entries:
        options = arguments.split()
        if program == "ruff":  # hooks get the changed files; here ruff checks all and changes nothing
            options += ["--check", "."] if options == ["format"] else ["."]
        done = subprocess.run([BIN / program, *options], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            failed.append(f"{program}{arguments}:\n{done.stdout}{done.stderr}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_types_on_other_platforms(platform: str) -> None:
    done = subprocess.run(
        [BIN / "mypy", "--cache-dir", f".mypy_cache/{platform}", "--platform", platform, "slpstream"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
