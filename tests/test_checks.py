"""Format, lint, types and import layers: the pre-commit hooks, run over the whole checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.project import ROOT

BIN = Path(sys.executable).parent
HOOKS = ROOT / ".pre-commit-config.yaml"


def test_hooks_find_nothing() -> None:
    entries = re.findall(r"entry: uv run --no-sync (\S+)(.*)", HOOKS.read_text(encoding="utf-8"))
    assert [program for program, _ in entries] == ["ruff", "ruff", "mypy", "lint-imports"]
    failed = []
    for program, arguments in entries:
        options = arguments.split()
        if program == "ruff":  # a hook is given the changed files; here nothing may be changed
            options += ["--check", "."] if options == ["format"] else ["."]
        done = subprocess.run([BIN / program, *options], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            failed.append(f"{program}{arguments}:\n{done.stdout}{done.stderr}")
    assert not failed, "\n".join(failed)
