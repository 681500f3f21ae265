"""The options `--all` and `--quick`, and what they select. CONTRIBUTING.md describes the loops.

Tests are marked where they are written, with `pytest.mark` or `pytestmark`; those that use a browser or a broker are
marked here, by their fixtures.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.project import ROOT
from tests.shared_data import IN_CI

_FIXTURE_MARKS = {"browser": ("browser", "process"), "broker": ("redis", "process")}
_NOT_QUICK = ("slow", "browser", "process", "redis", "soak", "fuzz", "sweep")
_MODULE_MARK = re.compile(rf"^pytestmark = .*\bmark\.({'|'.join(_NOT_QUICK)})\b", re.MULTILINE)
_BYTECODE = ROOT / ".pytest_cache" / "bytecode"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("slpstream")
    group.addoption("--all", action="store_true", help="run every test, also those marked slow; CI=true does the same")
    group.addoption("--quick", action="store_true", help=f"run the inner loop: no test marked {', '.join(_NOT_QUICK)}")


def pytest_configure(config: pytest.Config) -> None:
    if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
        # The suite starts hundreds of Python processes. Without bytecode each of them compiles everything anew, which
        # takes longer than what it is started for. It goes to pytest's own cache, not next to the sources.
        sys.dont_write_bytecode = False
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(_BYTECODE)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--quick`, modules that are marked as a whole need not even be imported."""
    if not config.getoption("quick") or not collection_path.name.startswith("test_"):
        return None
    return bool(_MODULE_MARK.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for fixture in getattr(item, "fixturenames", ()):
            for mark in _FIXTURE_MARKS.get(fixture, ()):
                item.add_marker(mark)
    if config.getoption("quick"):
        _deselect(config, items, [item for item in items if any(map(item.get_closest_marker, _NOT_QUICK))])
    elif not (config.getoption("all") or IN_CI or "slow" in config.option.markexpr):
        named = {Path(argument.partition("::")[0]).resolve() for argument in config.args}
        _deselect(config, items, [item for item in items if item.get_closest_marker("slow") and item.path not in named])


def _deselect(config: pytest.Config, items: list[pytest.Item], left_out: Sequence[pytest.Item]) -> None:
    """Leave tests out. A slow test in a file that is named on the command line is not left out."""
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
