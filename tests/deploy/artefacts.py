"""The files of a release, each built by its own script once per run of the tests, by the first worker that needs it."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.project import ROOT

BUILD_SECONDS = 1500
SOURCE_DATE_EPOCH = "1790000000"
"""The modification time of the files built here, independent of the last commit."""
ENVIRONMENT = {"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH, "DPKG_DEB_COMPRESSOR_LEVEL": "1"}
"""Options of all builds. These packages are not downloaded, so they can be larger than those of a release."""
WINDOWS_PYTHON = os.environ.get("SLPSTREAM_WINDOWS_PYTHON")
"""The output folder of deploy/windows/interpreter, which must be run before the tests."""


def wheel(factory: pytest.TempPathFactory) -> Path:
    """The wheel with the compiled kernel. Its folder also has the source archive."""
    return _built(factory, "wheel", "*.whl")


def debian_package(factory: pytest.TempPathFactory) -> Path:
    """The package for Debian."""
    return _built(factory, "debian", "*.deb", wheel(factory))


def linux_program(factory: pytest.TempPathFactory) -> Path:
    """The one-file program for Linux."""
    return _built(factory, "linux", "slpstream-*", wheel(factory))


def npm_package(factory: pytest.TempPathFactory) -> Path:
    """The package of the JavaScript client."""
    return _built(factory, "npm", "*.tgz")


def windows_program(factory: pytest.TempPathFactory) -> Path:
    """The one-file program for Windows."""
    # python.exe is the last file made by the script.
    made = [Path(WINDOWS_PYTHON)] if WINDOWS_PYTHON and Path(WINDOWS_PYTHON, "python.exe").exists() else []
    return _built(factory, "windows", "slpstream-*.exe", *made)


def debian_root(factory: pytest.TempPathFactory) -> Path:
    """A tar archive of Debian 12 with only apt and essential packages."""

    def make(folder: Path) -> None:
        run_script(
            "mmdebstrap", "--quiet", "--variant=apt", "bookworm", folder / "root.tar", "http://deb.debian.org/debian"
        )

    return made_once(factory, "debian-root", make) / "root.tar"


def run_script(*command: str | Path, **environment: str) -> None:
    """Run a program of the build. A failure includes its output."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | ENVIRONMENT | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=BUILD_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder shared by all workers of pytest-xdist. The first one fills it with `make`, the others wait."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"made-{name}"
    done = folder.with_suffix(".done")
    with _locked(folder.with_suffix(".lock")):
        if not done.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            done.touch()
    return folder


def _built(factory: pytest.TempPathFactory, kind: str, pattern: str, *inputs: Path) -> Path:
    def make(folder: Path) -> None:
        run_script(ROOT / "deploy" / kind / "build", folder, *inputs)

    [file] = made_once(factory, kind, make).glob(pattern)
    return file


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
