"""Each row of the threat model and of the guarantees names at least one test, and all named tests exist."""

from __future__ import annotations

import re

from tests.project import ROOT, deleted_part

THREATS = (ROOT / "docs/explanation/threat_model.md").read_text(encoding="utf-8")
GUARANTEES = (ROOT / "docs/howto/outputs.md").read_text(encoding="utf-8").partition("## Guarantees")[2]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", THREATS + GUARANTEES)))


def rows(text: str) -> list[list[str]]:
    """The cells of each row of a table."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def proofs() -> list[list[str]]:
    """The rows whose last cell has tests."""
    return rows(THREATS) + rows(GUARANTEES.partition("### Tests")[2])


def test_each_row_is_complete() -> None:
    for *texts, tests in proofs():
        assert all(texts)
        named = re.findall(r"`([^`]+)`", tests)
        assert named, texts
        assert set(named) <= set(NAMED)
        assert re.sub(r"`[^`]+`", "", tests).strip() == "", texts


def test_each_guarantee_has_tests() -> None:
    guarantees = rows(GUARANTEES.partition("### Tests")[0])
    assert len(guarantees) > 15
    assert all(len(row) == 4 and all(row) for row in guarantees)
    outputs = [re.sub(r"\[(.*?)\]\([^)]*\)", r"\1", row[0]) for row in guarantees]
    assert outputs == [row[0] for row in rows(GUARANTEES.partition("### Tests")[2])]


def test_named_tests_exist() -> None:
    for name in NAMED:
        path, _, function = name.partition("::")
        if deleted_part(path) is not None:
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not function or re.search(rf"^(async )?def {function}\(", text, re.MULTILINE), name
