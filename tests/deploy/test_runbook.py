"""docs/howto/runbook.md has an entry for each alert, diagnostic code, close code and drop reason, and no others."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from slpstream.model import errors
from slpstream.system.metrics import ROWS
from slpstream.web import websocket
from tests.project import ROOT

RUNBOOK = (ROOT / "docs/howto/runbook.md").read_text(encoding="utf-8")
CODE_ARGUMENT = {"Diagnostic": 2, "_diagnose": 0, "_warn": 0, "_warning": 0, "publish_diagnostic": 0}
"""Functions that report a diagnostic, and the index of the argument that is its code."""
SEVERITIES = {"info", "warning", "error"}


def section(title: str) -> list[list[str]]:
    """The cells of each row of the tables below a heading."""
    [text] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows if row[0].strip() not in ("alert", "code", "reason", "---")]


def entries(title: str) -> list[str]:
    """The names in the first column."""
    return [name for row in section(title) for name in re.findall(r"[\w]+", row[0].replace("`", ""))]


def calls() -> Iterator[tuple[str, ast.FunctionDef | None, ast.expr]]:
    """Location, enclosing function and code expression of each call that reports a diagnostic."""
    for path in sorted((ROOT / "slpstream").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        inside = {id(node): function for function in functions for node in ast.walk(function)}
        for node in ast.walk(tree):
            location = f"{path.name}:{getattr(node, 'lineno', 0)}"
            function = inside.get(id(node))
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                starred = any(isinstance(argument, ast.Starred) for argument in node.args)
                if name in CODE_ARGUMENT and len(node.args) >= 3 and not starred:
                    yield location, function, node.args[CODE_ARGUMENT[name]]
            elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                severity, *rest = node.value.elts
                if constants(severity, None) & SEVERITIES:
                    yield location, function, rest[0]


def constants(node: ast.expr | None, function: ast.FunctionDef | None) -> set[str]:
    """The strings that an expression can evaluate to. Assignments to a name are searched in the function."""
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.IfExp):
        return constants(node.body, function) | constants(node.orelse, function)
    found: set[str] = set()
    if isinstance(node, ast.Name) and function is not None:
        for each in ast.walk(function):
            if isinstance(each, ast.Assign) and node.id in [getattr(target, "id", "") for target in each.targets]:
                found |= constants(each.value, None)
            if isinstance(each, ast.Call) and getattr(each.func, "attr", "") == "append":
                [item] = each.args
                found |= constants(item.elts[0], None) if isinstance(item, ast.Tuple) else set()
    return found


def is_forwarded(node: ast.expr, function: ast.FunctionDef | None) -> bool:
    """Whether the code is taken from an error or a parameter of the function, and so is found elsewhere."""
    if isinstance(node, ast.Attribute):
        return node.attr == "code"
    parameters = [argument.arg for argument in function.args.args] if function is not None else []
    return isinstance(node, ast.Name) and node.id in parameters


def diagnostic_codes() -> set[str]:
    """All diagnostic codes in the source."""
    codes = {
        error.code
        for error in vars(errors).values()
        if inspect.isclass(error) and issubclass(error, (errors.FormatError, errors.SourceError))
    }
    for location, function, node in calls():
        found = constants(node, function)
        assert found or is_forwarded(node, function), f"{location}: this test cannot determine the code"
        codes |= found
    return codes


@pytest.mark.slow
def test_each_diagnostic_code_has_an_entry() -> None:
    listed = entries("Diagnostic codes")
    assert len(listed) == len(set(listed))
    assert set(listed) == diagnostic_codes()
    assert {"frame_without_bookend", "event_after_end", "humans", "over_buffer", "section_sizes"} <= set(listed)


def test_each_alert_has_an_entry() -> None:
    rules = (ROOT / "deploy/prometheus/rules.yml").read_text(encoding="utf-8")
    assert entries("Alerts") == re.findall(r"- alert: (\w+)", rules)


def test_each_close_code_has_an_entry() -> None:
    expected = {
        error.close_code
        for error in vars(errors).values()
        if inspect.isclass(error) and issubclass(error, errors.SubscriberError)
    }
    expected |= {websocket.GOING_DOWN, websocket.NOT_UTF8, 1002, 1009}  # the last two come from the websocket protocol
    assert [int(code) for code in entries("Close codes")] == sorted(expected)
    assert {str(code) for code in expected} == set(ROWS["slpstream_connections_closed_total"].known_values)


def test_each_drop_reason_has_an_entry() -> None:
    reasons = entries("Dropped connections")
    assert tuple(reasons) == ROWS["slpstream_connections_dropped_total"].known_values


def test_every_entry_has_a_meaning_and_an_action() -> None:
    for row in re.findall(r"^\| [^-].*$", RUNBOOK, re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert len(cells) == 3, row
        assert all(cells), row
