"""A clean checkout as a new user has it: the files under version control, and those that are about to be."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.project import ROOT


def copy_checkout(folder: Path) -> Path:
    """Copy the files of this checkout, without what is built or installed in it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder
