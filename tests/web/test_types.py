"""TypeScript's compiler checks the JSDoc types of all JavaScript that the daemon serves.

The settings are in `jsconfig.json` at the root of the project. Editors read them there, so they agree with this test.
`npm install --prefix tests/oracles` installs the compiler.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from slpstream.web.app import STATIC
from tests.oracles.slippi_js import MODULES
from tests.project import IN_CI, ROOT

TSC = MODULES / "typescript" / "bin" / "tsc"
SECONDS = 120.0

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and TSC.is_file()) and not IN_CI,
    reason=f"no node, or no typescript in {MODULES} (npm install --prefix tests/oracles); only CI insists on it",
)


def checked(*options: str) -> tuple[int, str]:
    """The compiler's exit code and output."""
    command = ["node", str(TSC), "--project", str(ROOT / "jsconfig.json"), *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_types_are_right() -> None:
    code, output = checked("--pretty", "false", "--listFiles")
    errors = [line for line in output.splitlines() if not Path(line).is_file()]
    assert (code, errors) == (0, []), "\n".join(errors)
    unchecked = {str(path) for path in STATIC.rglob("*.js")} - set(output.splitlines())
    assert not unchecked, unchecked
