"""Run systemd's own tools on the units in deploy/. They need neither a running systemd nor root.

The unit's executable, /opt/slpstream/bin/slpstream, does not exist on the machine of the tests, so they check a *copy*
of the unit with an existing executable. Nothing else is changed, and verify runs in its strictest mode.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.deploy.tools import needs
from tests.project import ROOT

DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "slpstream.service").read_text(encoding="utf-8")
GATEWAY_UNIT = (DEPLOY / "slpstream-gateway.service").read_text(encoding="utf-8")
EXECUTABLE = "/opt/slpstream/bin/slpstream"
MAX_SCORE = 1.5
"""systemd 252 calculates 0.9 for the shipped unit and 1.0 with the network open. Other versions use other weights."""
needs_systemd = needs("systemd-analyze")


def settings(text: str) -> list[tuple[str, str]]:
    """Key and value of every assignment in a unit or drop-in; a key can occur more than once."""
    lines = (line.strip() for line in text.splitlines())
    return [(key, value) for line in lines if line and line[0] not in "#;[" for key, _, value in [line.partition("=")]]


def install(folder: Path, unit: str, *drop_ins: str) -> Path:
    """Write a copy of the unit with an existing executable, and the drop-ins where systemd finds them."""
    path = folder / "slpstream.service"
    present = shutil.which("true")
    assert present is not None
    path.write_text(unit.replace(EXECUTABLE, present), encoding="utf-8")
    for number, drop_in in enumerate(drop_ins):
        directory = folder / "slpstream.service.d"
        directory.mkdir(exist_ok=True)
        (directory / f"{number}.conf").write_text(drop_in, encoding="utf-8")
    return path


def complaints(path: Path) -> str:
    """The findings of `systemd-analyze verify`: unknown keys, invalid values and missing executables."""
    # Without --recursive-errors, verify prints unknown keys and exits 0. --man=no, because man pages can be missing.
    done = _analyze("verify", "--man=no", "--recursive-errors=yes", path)
    return done.stdout + done.stderr + (f"exit status {done.returncode}" if done.returncode else "")


def exposure(path: Path) -> float:
    """The exposure score of a unit, calculated by `systemd-analyze security`."""
    done = _analyze("security", "--offline=true", path)
    found = re.search(r"Overall exposure level for slpstream\.service: (\d+\.\d+)", done.stdout)
    assert found, done.stdout + done.stderr
    return float(found[1])


def _analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *arguments],
        check=False, capture_output=True, encoding="utf-8", timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"},
    )  # fmt: skip
