"""Deleting the folders of any part leaves a package whose remaining tests pass."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from pkgutil import iter_modules

import pytest

from slpstream import parts as folder
from slpstream.parts.registry import parts
from tests.docs.checkout import copy_checkout
from tests.marks import release
from tests.project import ROOT

CHOSEN = 5
SEED = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(random.randrange(1 << 32))
"""Equal in all workers of a run, which choose the same parts."""
BUILT_IN = sorted(module.name for module in iter_modules(folder.__path__) if module.ispkg)
NAMES = random.Random(SEED).sample(BUILT_IN, CHOSEN)


def copy_without(part: str, target: Path) -> Path:
    """Copy the checkout, and delete the folders of this part and of its tests."""
    copy_checkout(target)
    for place in ("slpstream/parts", "tests/parts"):
        shutil.rmtree(target / place / part, ignore_errors=True)
    for kernel in ROOT.glob("slpstream/**/*.so"):
        shutil.copy2(kernel, target / kernel.relative_to(ROOT))
    (target.parent / "shared").symlink_to(ROOT.parent / "shared")
    (target / "tests/oracles/node_modules").symlink_to(ROOT / "tests/oracles/node_modules")
    return target


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a copy, whose package comes before the installed one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(folder)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("chosen", [range(CHOSEN), *([number] for number in range(CHOSEN))], ids=str)
def test_commands_start_without_parts(tmp_path: Path, chosen: Sequence[int]) -> None:
    deleted = {NAMES[number] for number in chosen}
    shutil.copytree(ROOT / "slpstream", tmp_path / "slpstream", ignore=shutil.ignore_patterns("__pycache__"))
    for name in deleted:
        shutil.rmtree(tmp_path / "slpstream/parts" / name)
    (tmp_path / "empty.toml").touch()
    for arguments in (["--help"], ["check-config", "empty.toml"], ["reference"]):
        if arguments[0] in deleted:
            continue
        done = _run([sys.executable, "-m", "slpstream", *arguments], tmp_path)
        assert done.returncode == 0, f"seed {SEED}, without {sorted(deleted)}: {done.stderr}"
        if arguments == ["--help"]:
            for part in parts():
                for command in part.commands:
                    assert (f"  {command.name} " in done.stdout) == (part.name not in deleted), command.name


CHECKS: Sequence[Sequence[str]] = (
    ("ruff", "check", "--no-cache", "."),
    ("ruff", "format", "--no-cache", "--check", "."),
    ("lint-imports", "--no-cache"),
    ("pytest", "-q", "--collect-only", "--all", "-p", "no:cacheprovider"),
    ("pytest", "-q", "--quick", "-n", "2", "-p", "no:cacheprovider"),
)
"""The checks of the gate that do not start other programs, and the collection of all other tests."""


@pytest.mark.parametrize("number", release(*range(CHOSEN)))
def test_remaining_checks_pass_without_a_part(tmp_path: Path, number: int) -> None:
    """A part that others need fails here. Tests of several parts are skipped, with the name of the deleted one."""
    copy = copy_without(NAMES[number], tmp_path / "main")
    for name, *arguments in CHECKS:
        done = _run([str(Path(sys.executable).with_name(name)), *arguments], copy)
        output = done.stdout[-20_000:] + done.stderr
        assert done.returncode == 0, f"seed {SEED}, without {NAMES[number]}: {name}\n{output}"
