"""deploy/requirements.lock pins every package by hash, matches the project, and has no known vulnerabilities.

Made by `uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
--quiet --output-file deploy/requirements.lock`. It names no registry, so that it works with a mirror too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project import ROOT

LOCK = ROOT / "deploy/requirements.lock"
UV = os.environ.get("UV") or shutil.which("uv")
_PIN = re.compile(r"([\w.-]+)==(\S+?)(?: ; ([^\\]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")


def pins() -> dict[str, tuple[str, str | None]]:
    """Version and marker of each package."""
    text = LOCK.read_text(encoding="utf-8")
    found = _PIN.findall(text)
    assert "".join(_PIN.sub("", text).split()) == "", "the lock contains something other than packages with hashes"
    assert len({name for name, *_ in found}) == len(found)
    return {canonicalize_name(name): (version, marker or None) for name, version, marker, _ in found}


def direct_requirements() -> list[Requirement]:
    """The dependencies in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [Requirement(line) for line in project["dependencies"]]


def test_lock_names_no_registry() -> None:
    assert not re.search(r"://|--index|--extra-index|--find-links|@", LOCK.read_text(encoding="utf-8"))


def test_lock_matches_the_project() -> None:
    """The lock has all direct and indirect dependencies, at versions that satisfy the requirements, and no others."""
    locked = pins()
    needed: set[str] = set()
    pending = direct_requirements()
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        assert name in locked, f"{name} is not locked: compile the lock again"
        assert requirement.specifier.contains(locked[name][0]), f"{name} {locked[name][0]}: compile the lock again"
        if name in needed:
            continue
        needed.add(name)
        try:
            pending += [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:
            pytest.fail(f"{name} is not installed")
    applicable = {name for name, (_, marker) in locked.items() if marker is None or Marker(marker).evaluate()}
    assert applicable == needed


@pytest.mark.skipif(UV is None, reason="no uv")
def test_hashes_match_the_registry(tmp_path: Path) -> None:
    assert UV is not None
    command = [UV, "pip", "install", "--dry-run", "--require-hashes", "--quiet", "--target", str(tmp_path)]
    done = subprocess.run(
        [*command, "--python", sys.executable, "-r", str(LOCK)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode and re.search("Failed to fetch|error sending request|Connection|Network", done.stderr):
        pytest.skip("the registry is not reachable")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_spec("pip_audit") is None, reason="pip-audit is not installed (dependency group `peers`)")
def test_no_known_vulnerabilities() -> None:
    command = [sys.executable, "-m", "pip_audit", "-r", str(LOCK), "--require-hashes", "--disable-pip", "-f", "json"]
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
