"""Example packages of the documentation, built as wheels and installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path


def installed_package(project: Path, files: Mapping[str, str]) -> Path:
    """Build the wheel of a package in the folder `project` from its files, by relative path.

    Returns a folder with the unpacked wheel, which is how pure Python wheels are installed.
    """
    for name, content in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content, encoding="utf-8")
    build = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, "dist"], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [wheel] = (project / "dist").glob("*.whl")
    target = project / "installed"
    zipfile.ZipFile(wheel).extractall(target)
    return target


def run_slpstream(*arguments: str | Path, path: Path | None) -> subprocess.CompletedProcess[str]:
    """Run a command of slpstream to its end, with the packages in the folder `path`, if one is given."""
    environment = os.environ | ({} if path is None else {"PYTHONPATH": str(path)})
    command = [sys.executable, "-m", "slpstream", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
