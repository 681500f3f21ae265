"""The registry finds the built-in formats by their folders, also in a zip."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.project import ROOT

PROGRAM = """
import sys
import slpstream
from slpstream.formats.registry import formats, of_name
assert slpstream.__file__.startswith(sys.path[0]), slpstream.__file__
print(*(format_.name for format_ in formats()))
print(of_name("unknown.bin", b"rubbish", 7).name)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with a copy of the package."""
    ignored = shutil.ignore_patterns("__pycache__", "static", "node_modules")
    shutil.copytree(ROOT / "slpstream", tmp_path / "slpstream", ignore=ignored)
    return tmp_path


def found_in(path: Path) -> list[str]:
    """The output of a program that uses the package in `path`, a folder or a zip."""
    program = f"import sys\nsys.path.insert(0, {str(path)!r})\n{PROGRAM}"
    done = subprocess.run([sys.executable, "-c", program], cwd=path.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("removed", ["gci", "mk8", "stunts"])
def test_format_can_be_deleted(package: Path, removed: str) -> None:
    shutil.rmtree(package / "slpstream" / "formats" / removed)
    rest = [name for name in ("slippi", "gci", "mk8", "stunts") if name != removed]
    assert found_in(package) == [" ".join(rest), "slippi"]


def test_formats_are_found_in_a_zip(package: Path, tmp_path: Path) -> None:
    archive = tmp_path / "slpstream.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted((package / "slpstream").rglob("*")):
            file.write(path, path.relative_to(package))
    assert found_in(archive) == ["slippi gci mk8 stunts", "slippi"]
