"""docs/howto/runbook.md has an entry for each alert, diagnostic code, close code and drop reason, and no others."""

from __future__ import annotations

import inspect
import re

import pytest

from slpstream.model import errors
from slpstream.parts import registry
from slpstream.web import websocket
from tests.project import ROOT

RUNBOOK = (ROOT / "docs/howto/runbook.md").read_text(encoding="utf-8")
REPORTED = re.compile(
    r'(?:\b(?:Diagnostic\([^"]*|yield )"(?:info|warning|error)", |\breport\(out, '
    r'|\b(?:_abandon|_diagnose|_warn|_warning|publish_diagnostic)\(\s*|\b_warn_once\(\S+ )"(\w+)"'
)
"""The code in a call that reports a diagnostic. The pattern misses the few codes that are chosen by a condition."""


def section(title: str) -> list[list[str]]:
    """The cells of each row of the tables below a heading."""
    [text] = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows if row[0].strip() not in ("code", "reason", "---")]


def entries(title: str) -> list[str]:
    """The names in the first column."""
    return [name for row in section(title) for name in re.findall(r"[\w]+", row[0].replace("`", ""))]


@pytest.mark.parts("consoles")
def test_each_diagnostic_code_has_an_entry() -> None:
    listed = entries("Diagnostic codes")
    assert len(listed) == len(set(listed))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "slpstream").rglob("*.py")))
    codes = set(REPORTED.findall(sources)) | {
        error.code
        for error in vars(errors).values()
        if inspect.isclass(error) and issubclass(error, (errors.FormatError, errors.SourceError))
    }
    assert len(codes) > 40
    assert codes <= set(listed)
    assert not [code for code in listed if f'"{code}"' not in sources]


def test_each_alert_has_an_entry() -> None:
    rules = (ROOT / "deploy/prometheus/slpstream.rules.yml").read_text(encoding="utf-8")
    alerts = re.findall(r"^### (\w+)\n\n(.*?)(?=^##)", RUNBOOK, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in alerts] == re.findall(r"- alert: (\w+)", rules)
    assert not [name for name, text in alerts if not re.fullmatch(r"\S.*\*\*Do\*\*:\s.+", text.strip(), re.DOTALL)]


def test_alerts_lead_to_their_entries() -> None:
    rules = (ROOT / "deploy/prometheus/slpstream.rules.yml").read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)(.*?)(?=- alert|\Z)", rules, re.DOTALL)
    for name, text in alerts:
        assert re.findall(r"^ +runbook_url: (.*)$", text, re.MULTILINE) == [f"docs/howto/runbook.md#{name.lower()}"]
        assert re.search(r'^ +description: "\S.*\."$', text, re.MULTILINE), name


def test_each_close_code_has_an_entry() -> None:
    expected = {
        error.close_code
        for error in vars(errors).values()
        if inspect.isclass(error) and issubclass(error, errors.SubscriberError)
    }
    expected |= {websocket.GOING_DOWN, websocket.NOT_UTF8, 1002, 1009}  # the last two come from the websocket protocol
    assert [int(code) for code in entries("Close codes")] == sorted(expected)
    assert {str(code) for code in expected} == set(
        registry.metrics().rows["slpstream_connections_closed_total"].known_values
    )


def test_each_drop_reason_has_an_entry() -> None:
    reasons = entries("Dropped connections")
    assert tuple(reasons) == registry.metrics().rows["slpstream_connections_dropped_total"].known_values


def test_every_entry_has_a_meaning_and_an_action() -> None:
    for row in re.findall(r"^\| [^-].*$", RUNBOOK, re.MULTILINE):
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert len(cells) == 3, row
        assert all(cells), row
