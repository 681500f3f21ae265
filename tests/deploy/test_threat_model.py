"""Each row of docs/explanation/threat_model.md names at least one test, and all named tests exist."""

from __future__ import annotations

import re

from tests.project import ROOT, deleted_part

PAGE = (ROOT / "docs/explanation/threat_model.md").read_text(encoding="utf-8")
ROWS = [line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][2:]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", PAGE)))


def test_each_row_is_complete() -> None:
    assert len(ROWS) > 10
    for row in ROWS:
        attacker, threat, defence, tests = (cell.strip() for cell in row)
        assert attacker
        assert threat
        assert defence.endswith(".")
        named = re.findall(r"`([^`]+)`", tests)
        assert named, row
        assert set(named) <= set(NAMED)
        assert re.sub(r"`[^`]+`", "", tests).strip() == "", row


def test_named_tests_exist() -> None:
    for name in NAMED:
        path, _, function = name.partition("::")
        if deleted_part(path) is not None:
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not function or re.search(rf"^(async )?def {function}\(", text, re.MULTILINE), name
