"""The container image is built on a clean Debian, and plays the demo.

Tests cannot rely on a registry, or on a kernel that lets them start containers. So the base is a Debian built from its
packages, and buildah isolates commands with a chroot.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from slpstream.model.version import __version__
from tests.deploy import artefacts
from tests.deploy.debian_root import needs_root
from tests.deploy.played_demo import play_demo
from tests.deploy.tools import needs
from tests.project import ROOT


class Buildah:
    """buildah with a separate store."""

    def __init__(self, folder: Path) -> None:
        settings = folder / "storage.conf"
        settings.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/store"\nrunroot = "{folder}/run"\n')
        self.environment = {"CONTAINERS_STORAGE_CONF": str(settings), "BUILDAH_ISOLATION": "chroot"}

    def __call__(self, *arguments: str | Path) -> str:
        """Run a command of buildah, and return its output."""
        done = subprocess.run(
            ["buildah", *arguments], env=os.environ | self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@needs("buildah", "mmdebstrap", "dh")
@needs_root
def test_image_plays_the_demo(tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    buildah = Buildah(tmp_path)
    scratch = buildah("from", "scratch")
    buildah("add", "--quiet", scratch, artefacts.debian_root(tmp_path_factory), "/")
    buildah("commit", "--quiet", "--rm", scratch, "localhost/debian")
    package = artefacts.debian_package(tmp_path_factory)
    out = tmp_path / "out"
    artefacts.run_script(ROOT / "deploy/container/build", out, package, BASE="localhost/debian", **buildah.environment)

    container = buildah("from", "--pull-never", f"localhost/slpstream:{__version__}")
    described = json.loads(buildah("inspect", container))["OCIv1"]["config"]
    assert described["User"] == "slpstream"
    assert described["Entrypoint"] == ["slpstream"]
    assert described["Cmd"] == ["serve", "/replays"]
    command = ["buildah", "run", container, "slpstream"]
    play_demo(command, environment=os.environ | buildah.environment)

    [archive] = out.iterdir()
    with tarfile.open(archive) as tar:
        assert "index.json" in tar.getnames()
