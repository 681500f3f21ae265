"""A Python like that of a new user: with pip, and without slpstream and its packages."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def make_environment(folder: Path, variables: Mapping[str, str] | None = None) -> None:
    """Create a virtual environment with the base Python of the tests' environment.

    uv copies pip from its cache, which is much faster than installing it with the module venv.
    """
    python = str(Path(sys.base_prefix) / "bin" / "python3")
    uv = shutil.which("uv")
    make = [uv, "venv", "--quiet", "--seed", "--python", python] if uv else [python, "-m", "venv"]
    subprocess.run([*make, folder], env=variables, check=True)
