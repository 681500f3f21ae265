"""The list of what the tests leave out on Windows has no entries for tests that do not exist."""

from __future__ import annotations

import ast

from tests import not_on_windows
from tests.project import ROOT


def test_listed_tests_exist() -> None:
    for entry in not_on_windows.TESTS:
        module, _, name = entry.partition("::")
        tree = ast.parse((ROOT / "tests" / module).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name.partition("[")[0] in functions, entry


def test_every_entry_has_a_reason() -> None:
    assert all({**not_on_windows.MODULES, **not_on_windows.TESTS}.values())
