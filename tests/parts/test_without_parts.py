"""A copy of the package from which the folders of some parts were deleted still works."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import pytest

from slpstream import parts as folder
from slpstream.parts.registry import parts
from tests.project import ROOT

CHOSEN = 5
SEED = random.randrange(1 << 32)
BUILT_IN = sorted(module.name for module in iter_modules(folder.__path__) if module.ispkg)
NAMES = random.Random(SEED).sample(BUILT_IN, CHOSEN)


@pytest.mark.parametrize("chosen", [range(CHOSEN), *([number] for number in range(CHOSEN))], ids=str)
def test_commands_start_without_parts(tmp_path: Path, chosen: range | list[int]) -> None:
    deleted = {NAMES[number] for number in chosen}
    shutil.copytree(ROOT / "slpstream", tmp_path / "slpstream", ignore=shutil.ignore_patterns("__pycache__"))
    for name in deleted:
        shutil.rmtree(tmp_path / "slpstream/parts" / name)
    (tmp_path / "empty.toml").touch()
    for arguments in (["--help"], ["check-config", "empty.toml"], ["reference"]):
        if arguments[0] in deleted:
            continue
        done = subprocess.run(
            [sys.executable, "-m", "slpstream", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"seed {SEED}, without {sorted(deleted)}: {done.stderr}"
        if arguments == ["--help"]:
            for part in parts():
                for command in part.commands:
                    assert (f"  {command.name} " in done.stdout) == (part.name not in deleted), command.name
