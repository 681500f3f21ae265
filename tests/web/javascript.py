"""Runs the project's JavaScript modules in node, without a page and with a controlled clock."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slpstream.web.app import STATIC
from tests.project import IN_CI

needs_node = pytest.mark.skipif(
    shutil.which("node") is None and not IN_CI, reason="there is no node (Debian: apt install nodejs); only CI insists"
)


def modules(into: Path) -> Path:
    """Copies the modules into a folder in which node treats them as modules."""
    folder = into / "static"
    for source in STATIC.rglob("*.js"):
        copy = folder / source.relative_to(STATIC)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def run(script: str, given: Any, into: Path) -> Any:
    """The result of a function body `async (given) => ...`, which may import the modules from `./`."""
    folder = modules(into)
    program = folder / "script.js"
    program.write_text(
        f"const main = async (given) => {{{script}}};\nconsole.log(JSON.stringify(await main({json.dumps(given)})));\n"
    )
    ran = subprocess.run(["node", str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
