"""The lock files pin every package by its hashes, match pyproject.toml, and name no registry.

- `deploy/requirements.lock` is for an installation. Made by `uv pip compile pyproject.toml --universal
  --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --output-file deploy/requirements.lock`.
- `deploy/requirements-extras.lock` adds all extras, at the versions that are tested. Made by the same command with
  `--all-extras --constraints requirements-dev.lock --output-file deploy/requirements-extras.lock`.
- `requirements-dev.lock` adds all extras and the dependency groups `dev`, `peers` and `docs`. Made by the same command
  with `--all-extras --group dev --group peers --group docs --output-file requirements-dev.lock`.
- `deploy/requirements-release.lock` has the tools that make the files of a release, and nothing else. Made by the same
  command with `--group pyproject.toml:release --output-file deploy/requirements-release.lock` and no `pyproject.toml`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project import ROOT
from tests.shared_data import IN_CI

DEPLOY = ROOT / "deploy/requirements.lock"
EXTRAS = ROOT / "deploy/requirements-extras.lock"
RELEASE = ROOT / "deploy/requirements-release.lock"
DEVELOPMENT = ROOT / "requirements-dev.lock"
UV = os.environ.get("UV") or shutil.which("uv")
_PIN = re.compile(r"([\w.-]+)==(\S+?)(?: ; ([^\\]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


class Pin(NamedTuple):
    """A package at a version. A package has several when its version depends on the Python or the platform."""

    name: str
    version: str
    marker: str | None


def pins(lock: Path) -> list[Pin]:
    """All pins of a lock file. Fails if the file has anything else."""
    text = lock.read_text(encoding="utf-8")
    found = _PIN.findall(text)
    assert "".join(_PIN.sub("", text).split()) == "", "the lock contains something other than packages with hashes"
    return [Pin(canonicalize_name(name), version, marker or None) for name, version, marker, _ in found]


def requirements_of(lock: Path) -> list[Requirement]:
    """The requirements in pyproject.toml that a lock file covers."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = list(table["project"]["dependencies"])
    if lock in (EXTRAS, DEVELOPMENT):
        lines += chain.from_iterable(table["project"]["optional-dependencies"].values())
    if lock == DEVELOPMENT:
        lines += chain.from_iterable(table["dependency-groups"][name] for name in ("dev", "peers", "docs"))
    if lock == RELEASE:
        lines = table["dependency-groups"]["release"]
    return [Requirement(line) for line in lines]


def closure(requirements: Sequence[Requirement], locked: Mapping[str, str]) -> set[str]:
    """The names of all packages that the requirements need on this machine, directly or indirectly.

    Fails if a locked version does not satisfy them. Raises `PackageNotFoundError` if a package is not installed.
    """
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(requirement, frozenset({""})) for requirement in requirements]
    while waiting:
        requirement, extras = waiting.pop()
        marker = requirement.marker
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in extras):
            continue
        name = canonicalize_name(requirement.name)
        assert name in locked, f"{name} is not locked: compile the lock again"
        assert requirement.specifier.contains(locked[name]), f"{name} {locked[name]}: compile the lock again"
        active = frozenset(requirement.extras | {""})
        if (name, active) in seen:
            continue
        seen.add((name, active))
        waiting += [(Requirement(line), active) for line in requires(name) or ()]
    return {name for name, _ in seen}


@pytest.mark.parametrize("lock", [DEPLOY, EXTRAS, RELEASE, DEVELOPMENT], ids=lambda lock: lock.name)
def test_lock_names_no_registry(lock: Path) -> None:
    assert not re.search(r"://|--index|--extra-index|--find-links|@", lock.read_text(encoding="utf-8"))


@pytest.mark.parametrize("lock", [DEPLOY, EXTRAS, DEVELOPMENT], ids=lambda lock: lock.name)
def test_lock_matches_the_project(lock: Path) -> None:
    """The lock has all direct and indirect dependencies, at versions that satisfy the requirements, and no others."""
    versions: dict[str, list[str]] = defaultdict(list)
    for pin in pins(lock):
        if pin.marker is None or Marker(pin.marker).evaluate():
            versions[pin.name].append(pin.version)
    assert not {name: found for name, found in versions.items() if len(found) > 1}
    locked = {name: version for name, [version] in versions.items()}
    try:
        needed = closure(requirements_of(lock), locked)
    except PackageNotFoundError as error:
        if lock == DEPLOY or IN_CI:
            raise
        pytest.skip(f"{error.name} is not installed")
    assert needed == set(locked)


def test_release_tools_satisfy_the_project() -> None:
    """They are not installed where tests run; that their own dependencies are locked too, the registry knows."""
    locked = {pin.name: pin.version for pin in pins(RELEASE)}
    for requirement in requirements_of(RELEASE):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


def test_extras_are_locked_at_the_versions_of_the_development_lock() -> None:
    development = set(pins(DEVELOPMENT))
    assert {(pin.name, pin.version) for pin in pins(EXTRAS)} <= {(pin.name, pin.version) for pin in development}


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
    if done.returncode and re.search("Failed to fetch|error sending request|Connection|Network", done.stderr):
        pytest.skip("the registry is not reachable")
    assert done.returncode == 0, done.stderr


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
