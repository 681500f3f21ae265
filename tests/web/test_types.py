"""TypeScript's compiler checks the JSDoc types of all JavaScript that the daemon serves.

The settings are in `jsconfig.json` at the root of the project, which the one of each part extends. Editors read them
there, so they agree with this test. `npm install --prefix tests/oracles` installs the compiler.

The script `static/page.js` of a part is served as `/static/NAME/page.js` and imports the core's modules as
`../dom.js`. On disk that is the part's folder, which `rootDirs` unites with the core's folder.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from slpstream.parts.registry import static_folders
from slpstream.web.app import STATIC
from tests.oracles.slippi_js import MODULES
from tests.project import IN_CI, ROOT

TSC = MODULES / "typescript" / "bin" / "tsc"
SECONDS = 120.0

pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and TSC.is_file()) and not IN_CI,
    reason=f"no node, or no typescript in {MODULES} (npm install --prefix tests/oracles); only CI insists on it",
)


def checked(settings: Path, *options: str) -> tuple[int, str]:
    """The compiler's exit code and output."""
    command = ["node", str(TSC), "--project", str(settings), *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    return ran.returncode, ran.stdout + ran.stderr


def test_types_are_right(tmp_path: Path) -> None:
    """One run for core and parts."""
    folders = [STATIC, *static_folders().values()]
    settings = {
        "extends": str(ROOT / "jsconfig.json"),
        "compilerOptions": {"rootDirs": [str(STATIC), *(str(folder.parent) for folder in folders[1:])]},
        "include": [f"{folder}/**/*.js" for folder in folders],
    }
    (tmp_path / "jsconfig.json").write_text(json.dumps(settings))
    code, output = checked(tmp_path / "jsconfig.json", "--pretty", "false", "--listFiles")
    errors = [line for line in output.splitlines() if not Path(line).is_file()]
    assert (code, errors) == (0, []), "\n".join(errors)
    unchecked = {str(path) for folder in folders for path in folder.rglob("*.js")} - set(output.splitlines())
    assert not unchecked, unchecked


def test_parts_have_the_same_settings() -> None:
    settings = {
        "extends": "../../../jsconfig.json",
        "compilerOptions": {"rootDirs": [".", "../../web/static"]},
        "include": ["static/**/*.js"],
    }
    for folder in static_folders().values():
        assert json.loads((folder.parent / "jsconfig.json").read_text()) == settings, folder
