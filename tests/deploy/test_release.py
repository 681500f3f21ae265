"""deploy/release: the files, their checksums and bill of materials; a rebuild gives the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from slpstream.model.version import __version__
from tests.deploy import artefacts
from tests.deploy.tools import needs
from tests.docs.checkout import copy_checkout
from tests.project import ROOT

pytestmark = needs("git", "uv", "dpkg-deb", "dh")

RELEASED = ("wheel", "debian", "npm")
"""The kinds of files that are rebuilt here. Separate tests build the others."""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release, built from another folder, with another mask and time zone."""

    def make(folder: Path) -> None:
        checkout = folder / "another place"
        copy_checkout(checkout)
        subprocess.run(["git", "init", "--quiet", checkout], check=True)
        command = f'umask 077; exec "{checkout}/deploy/release" "{folder}/files" {" ".join(RELEASED)}'
        done = subprocess.run(
            ["sh", "-c", command],
            env=os.environ | artefacts.ENVIRONMENT | {"TZ": "Asia/Tokyo", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=artefacts.BUILD_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    return artefacts.made_once(tmp_path_factory, "release", make) / "files"


def test_rebuilt_wheel_source_archive_and_packages_are_identical(
    released: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    built = [
        *artefacts.wheel(tmp_path_factory).parent.glob("slpstream-*"),
        artefacts.debian_package(tmp_path_factory),
        artefacts.npm_package(tmp_path_factory),
    ]
    assert {path.suffix for path in built} == {".whl", ".gz", ".deb", ".tgz"}
    assert {path.name: digest(path) for path in built} == {path.name: digest(released / path.name) for path in built}


def test_checksums_cover_all_files(released: Path) -> None:
    lines = (released / "SHA256SUMS").read_text().splitlines()
    summed = {name: digest for digest, name in (line.split("  ") for line in lines)}
    assert summed == {path.name: digest(path) for path in released.iterdir() if path.name != "SHA256SUMS"}


def test_bill_of_materials_is_valid_and_names_every_package(released: Path) -> None:
    document = json.loads((released / f"slpstream-{__version__}.cdx.json").read_text())
    locked = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "deploy/requirements.lock").read_text(), re.MULTILINE)
    assert [(each["name"], each["version"]) for each in document["components"]] == locked
    assert all(each["externalReferences"][0]["hashes"] for each in document["components"])
    assert document["metadata"]["component"]["version"] == __version__
    model = pytest.importorskip("cyclonedx.model.bom", reason="not installed (dependency group `peers`)")
    read = model.Bom.from_json(document)
    assert read.validate()
    assert {(each.name, each.version) for each in read.components} == set(locked)


def test_changelog_has_a_section_for_the_version() -> None:
    assert re.search(
        rf"^## {re.escape(__version__)}( - \d{{4}}-\d\d-\d\d)?$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
