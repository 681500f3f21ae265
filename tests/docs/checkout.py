"""A clean checkout like that of a new user: files under version control, and new files that are not ignored."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.project import ROOT


def copy_checkout(folder: Path) -> Path:
    """Copy the files of this checkout, without built or installed files."""
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
