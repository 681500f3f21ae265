"""The list of what the tests leave out on Windows has no entries for tests that do not exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests import not_on_windows
from tests.project import ROOT


@pytest.mark.slow
def test_listed_tests_exist() -> None:
    for entry in not_on_windows.TESTS:
        module, _, name = entry.partition("::")
        tree = ast.parse((ROOT / "tests" / module).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name.partition("[")[0] in functions, entry


def test_tests_with_a_browser_are_left_out() -> None:
    """Playwright is not installed there, so a module that imports it would end the whole run."""
    with_browser = {
        path.relative_to(ROOT / "tests").as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if "node_modules" not in path.parts and re.search(r"^(from|import) playwright", path.read_text("utf-8"), re.M)
    }
    suites = ("sources", "stream", "store", "outputs", "web", "cli", "config", "system")
    assert {module for module in with_browser if module.startswith(suites)} <= set(not_on_windows.MODULES)


def test_every_entry_has_a_reason() -> None:
    assert all({**not_on_windows.MODULES, **not_on_windows.TESTS}.values())
