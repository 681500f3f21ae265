"""The lock files pin every package by its hashes, match pyproject.toml, and name no registry."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.utils import canonicalize_name

from tests.deploy.locks import COVERED, DEPLOY, DEVELOPMENT, EXTRAS, RELEASE, UV, compile_lock

_PIN = re.compile(r"([\w.-]+)==(\S+?)(?: ; ([^\\]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


class Pin(NamedTuple):
    """A package at a version. There are several if the version depends on the Python or the platform."""

    name: str
    version: str
    marker: str | None


def pins(lock: Path) -> list[Pin]:
    """All pins of a lock file. Fails on any other content."""
    text = lock.read_text(encoding="utf-8")
    found = _PIN.findall(text)
    assert "".join(_PIN.sub("", text).split()) == "", "the lock contains something other than packages with hashes"
    return [Pin(canonicalize_name(name), version, marker or None) for name, version, marker, _ in found]


def skip_without_registry(done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test if uv failed because it could not reach the registry."""
    if done.returncode and re.search("Failed to fetch|error sending request|Connection|Network", done.stderr):
        pytest.skip("the registry is not reachable")


@pytest.mark.skipif(UV is None, reason="no uv")
@pytest.mark.parametrize("lock", COVERED, ids=lambda lock: lock.name)
def test_lock_matches_the_project(lock: Path, tmp_path: Path) -> None:
    """The lock has exactly the direct and indirect dependencies, at versions that satisfy the requirements.

    Releases after the creation of the lock do not change this, because fitting pins keep their versions.
    """
    output = tmp_path / lock.name
    shutil.copy(lock, output)
    done = compile_lock(lock, output)
    skip_without_registry(done)
    assert done.returncode == 0, done.stderr
    assert pins(output) == pins(lock), "run python -m tests.deploy.locks"


def test_extras_are_locked_at_the_versions_of_the_development_lock() -> None:
    development = set(pins(DEVELOPMENT))
    assert {(pin.name, pin.version) for pin in pins(EXTRAS)} <= {(pin.name, pin.version) for pin in development}


@pytest.mark.release
@pytest.mark.skipif(UV is None, reason="no uv")
@pytest.mark.parametrize("lock", [DEPLOY, EXTRAS, RELEASE], ids=lambda lock: lock.name)
def test_hashes_match_the_registry(lock: Path, tmp_path: Path) -> None:
    assert UV is not None
    command = [UV, "pip", "install", "--dry-run", "--require-hashes", "--quiet", "--target", str(tmp_path)]
    done = subprocess.run(
        [*command, "--python", sys.executable, "-r", str(lock)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    skip_without_registry(done)
    assert done.returncode == 0, done.stderr


@pytest.mark.release
@pytest.mark.skipif(find_spec("pip_audit") is None, reason="pip-audit is not installed (dependency group `peers`)")
@pytest.mark.parametrize("lock", [DEPLOY, EXTRAS], ids=lambda lock: lock.name)
def test_no_known_vulnerabilities(lock: Path) -> None:
    command = [sys.executable, "-m", "pip_audit", "-r", str(lock), "--require-hashes", "--disable-pip", "-f", "json"]
    done = subprocess.run(
        [*command, "--progress-spinner", "off"], capture_output=True, text=True, timeout=120, check=False
    )
    try:
        audited = [entry for entry in json.loads(done.stdout)["dependencies"] if "skip_reason" not in entry]
    except json.JSONDecodeError:
        audited = []
    if not audited:
        pytest.skip("the data of pip-audit is not reachable")
    assert {entry["name"]: entry["vulns"] for entry in audited if entry["vulns"]} == {}
