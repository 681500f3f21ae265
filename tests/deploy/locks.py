"""Create the lock files after a change of the dependencies: `python -m tests.deploy.locks [--upgrade]`.

- `deploy/requirements.lock` is for an installation, and for the programs, which contain the extra `seats`.
- `deploy/requirements-extras.lock` adds all extras, at the versions that are tested.
- `requirements-dev.lock` adds all extras and the dependency groups `dev`, `peers` and `docs`.
- `deploy/requirements-release.lock` has only the tools that make the files of a release.

Packages keep their versions if these still fit; with `--upgrade` they get the newest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.project import ROOT

DEPLOY = ROOT / "deploy/requirements.lock"
EXTRAS = ROOT / "deploy/requirements-extras.lock"
RELEASE = ROOT / "deploy/requirements-release.lock"
DEVELOPMENT = ROOT / "requirements-dev.lock"

# The contents of each lock file, as arguments of `uv pip compile`.
COVERED = {
    DEPLOY: ["pyproject.toml", "--extra", "seats"],
    EXTRAS: ["pyproject.toml", "--all-extras", "--constraints", DEVELOPMENT.name],
    RELEASE: ["--group", "pyproject.toml:release"],
    DEVELOPMENT: ["pyproject.toml", "--all-extras", "--group", "dev", "--group", "peers", "--group", "docs"],
}
UV = os.environ.get("UV") or shutil.which("uv")


def compile_lock(lock: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Resolve the requirements of a lock file, and write the result to `output`.

    Existing pins in `output` stay if they fit.
    """
    assert UV is not None
    command = [UV, "pip", "compile", *COVERED[lock], *options, "--universal", "--python-version", "3.11"]
    return subprocess.run(
        [*command, "--generate-hashes", "--no-header", "--no-annotate", "--quiet", "--output-file", str(output)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


if __name__ == "__main__":
    for changed in (DEPLOY, DEVELOPMENT, EXTRAS, RELEASE):  # the extras follow the development lock
        compiled = compile_lock(changed, changed, *sys.argv[1:])
        if compiled.returncode:
            sys.exit(compiled.stderr)
