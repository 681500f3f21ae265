"""The one-file program for Linux, in a Debian without Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from slpstream.model.version import __version__
from tests.deploy import artefacts
from tests.deploy.debian_root import DebianRoot, needs_root
from tests.deploy.played_demo import play_demo
from tests.deploy.tools import needs
from tests.synthetic.match import synthetic_match

pytestmark = [needs("mmdebstrap", "bwrap", "objdump"), needs_root]


def test_program_plays_the_demo_without_python(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    debian = DebianRoot(artefacts.debian_root(tmp_path_factory), tmp_path / "root")
    shutil.copy(artefacts.linux_program(tmp_path_factory), debian.path("/usr/local/bin/slpstream"))
    assert debian.attempt("sh", "-c", "command -v python3").returncode != 0
    assert debian.run("/usr/local/bin/slpstream", "--version") == f"slpstream, version {__version__}\n"
    command = debian.command("/usr/local/bin/slpstream", user="games")
    play_demo(command)


def test_program_starts_its_worker_processes(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.slp").write_bytes(synthetic_match(seed=number, frames=300))
    command = [str(artefacts.linux_program(tmp_path_factory)), "stats", "--jobs", "2", "--json", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 4
