"""Each row of the threat model and of the guarantees names at least one test, and all named tests exist."""

from __future__ import annotations

import re

import pytest

from tests.project import ROOT, deleted_part

TEXTS = {
    name: (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("explanation/threat_model.md", "reference/guarantees.md")
}
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", "".join(TEXTS.values()))))


@pytest.mark.parametrize("page", TEXTS)
def test_each_row_is_complete(page: str) -> None:
    rows = [line.strip("|").split(" | ") for line in TEXTS[page].splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 10
    for row in rows:
        *texts, tests = (cell.strip() for cell in row)
        assert len(texts) >= 3
        assert all(texts), row
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
