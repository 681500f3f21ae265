"""The short form of each fault, and the page written by the long forms."""

from __future__ import annotations

import re

import pytest

from tests.faults import files, machine, processes
from tests.faults.matrix import FAULTS, PAGE, Fault, page
from tests.faults.scene import Outcome
from tests.project import IN_CI

GATE = {files.truncated, files.renamed, machine.disk_full, machine.overflow, processes.cut_off, processes.killed}
"""The faults that the gate injects."""
CASES = [
    pytest.param(fault, id=fault.name, marks=[] if fault.inject in GATE else pytest.mark.release) for fault in FAULTS
]


@pytest.mark.parametrize("fault", CASES)
def test_fault_neither_loses_nor_duplicates_messages(fault: Fault) -> None:
    if fault.unavailable is not None:
        assert not IN_CI, fault.unavailable
        pytest.skip(fault.unavailable)
    outcome = fault.run(fault.short)
    assert (outcome.times, outcome.lost, outcome.duplicated) == (fault.short, 0, 0)
    assert outcome.sent > 0


def test_page_matches_the_table() -> None:
    """The page has the texts of the table and the counts of its long forms."""
    text = PAGE.read_text(encoding="utf-8")
    counted = re.findall(r"^\| [^|]+ \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", text, re.MULTILINE)
    outcomes = [Outcome(*(int(figure.replace(",", "")) for figure in row)) for row in counted]
    assert [outcome.times for outcome in outcomes] == [fault.times for fault in FAULTS]
    assert all(outcome.sent > 0 and outcome.lost == outcome.duplicated == 0 for outcome in outcomes)
    assert text == page(outcomes)
