"""deploy/docs/runbook.md has an entry for each alert, each diagnostic code that the source can say, each close code,
each reason for a dropped connection; and none for what there is not."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from slpstream.model import errors
from slpstream.system.metrics import ROWS
from slpstream.web import websocket
from tests.project import ROOT

RUNBOOK = (ROOT / "deploy/docs/runbook.md").read_text(encoding="utf-8")
CODE_AT = {"Diagnostic": 2, "_diagnose": 0, "_warn": 0, "_warning": 0, "_say": 1, "publish_diagnostic": 0}
"""Calls that say a diagnostic, and which of their arguments is the code."""
SEVERITIES = {"info", "warning", "error"}


def section(title: str) -> list[list[str]]:
    """The rows of the tables below a heading: the cells of each."""
    [text] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows if row[0].strip() not in ("alert", "code", "reason", "---")]


def entries(title: str) -> list[str]:
    """What the first column names."""
    return [name for row in section(title) for name in re.findall(r"[\w]+", row[0].replace("`", ""))]


def calls() -> Iterator[tuple[str, ast.FunctionDef | None, ast.expr]]:
    """Where, in which function, and the code's expression, of everything that says a diagnostic."""
    for path in sorted((ROOT / "slpstream").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        inside = {id(node): function for function in functions for node in ast.walk(function)}
        for node in ast.walk(tree):
            where = f"{path.name}:{getattr(node, 'lineno', 0)}"
            function = inside.get(id(node))
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                starred = any(isinstance(argument, ast.Starred) for argument in node.args)
                if name in CODE_AT and len(node.args) >= 3 and not starred:
                    yield where, function, node.args[CODE_AT[name]]
            elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
                severity, *rest = node.value.elts
                if constants(severity, None) & SEVERITIES:
                    yield where, function, rest[0]


def constants(node: ast.expr | None, function: ast.FunctionDef | None) -> set[str]:
    """The texts that an expression can be; those of a name are looked for in its function."""
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


def passes_on(node: ast.expr, function: ast.FunctionDef | None) -> bool:
    """The code of an error, or a code that the function was given: said elsewhere."""
    if isinstance(node, ast.Attribute):
        return node.attr == "code"
    given = [argument.arg for argument in function.args.args] if function is not None else []
    return isinstance(node, ast.Name) and node.id in given


def diagnostic_codes() -> set[str]:
    """All that the source can say."""
    codes = {
        error.code
        for error in vars(errors).values()
        if inspect.isclass(error) and issubclass(error, (errors.FormatError, errors.SourceError))
    }
    for where, function, node in calls():
        found = constants(node, function)
        assert found or passes_on(node, function), f"{where}: a code that this test cannot see"
        codes |= found
    return codes


def test_each_diagnostic_code_has_an_entry() -> None:
    said = entries("Diagnostic codes")
    assert len(said) == len(set(said))
    assert set(said) == diagnostic_codes()
    assert {"frame_without_bookend", "event_after_end", "humans", "over_buffer", "section_sizes"} <= set(said)


def test_each_alert_has_an_entry() -> None:
    rules = (ROOT / "deploy/prometheus/rules.yml").read_text(encoding="utf-8")
    assert entries("Alerts") == re.findall(r"- alert: (\w+)", rules)


def test_each_close_code_has_an_entry() -> None:
    ours = {
        error.close_code
        for error in vars(errors).values()
        if inspect.isclass(error) and issubclass(error, errors.SubscriberError)
    }
    ours |= {websocket.GOING_DOWN, websocket.NOT_UTF8, 1002, 1009}  # the last two are the protocol's own
    assert [int(code) for code in entries("Close codes")] == sorted(ours)
    assert {str(code) for code in ours} == set(ROWS["slpstream_connections_closed_total"].known_values)


def test_each_reason_has_an_entry() -> None:
    reasons = entries("Dropped connections")
    assert tuple(reasons) == ROWS["slpstream_connections_dropped_total"].known_values


def test_every_entry_says_what_it_means_and_what_to_do() -> None:
    for row in re.findall(r"^\| [^-].*$", RUNBOOK, re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert len(cells) == 3, row
        assert all(cells), row


def test_the_keys_it_names_exist() -> None:
    from slpstream import config

    known = {f"{key.section}.{key.name}" for key in config.all_keys()}
    sections = "|".join({key.section for key in config.all_keys()})
    assert set(re.findall(rf"`((?:{sections})\.[a-z_]+)[` =]", RUNBOOK)) <= known
