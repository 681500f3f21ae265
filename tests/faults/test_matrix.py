"""The short form of each fault, and the page that the long forms wrote."""

from __future__ import annotations

import re

import pytest

from tests.faults.matrix import FAULTS, PAGE, Fault, page
from tests.faults.scene import Outcome
from tests.shared_data import IN_CI


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost_and_nothing_doubled(fault: Fault) -> None:
    if fault.cannot is not None:
        assert not IN_CI, fault.cannot
        pytest.skip(fault.cannot)
    outcome = fault.run(fault.short)
    assert (outcome.tried, outcome.lost, outcome.doubled) == (fault.short, 0, 0)
    assert outcome.sent > 0


def test_the_page_is_that_of_these_faults() -> None:
    """What it counts is what the long forms demand, and it says what the table says."""
    text = PAGE.read_text(encoding="utf-8")
    counted = re.findall(r"^\| [^|]+ \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", text, re.MULTILINE)
    outcomes = [Outcome(*(int(figure.replace(",", "")) for figure in row)) for row in counted]
    assert [outcome.tried for outcome in outcomes] == [fault.times for fault in FAULTS]
    assert all(outcome.sent > 0 and outcome.lost == outcome.doubled == 0 for outcome in outcomes)
    assert text == page(outcomes)
