"""All numbers about several machines in docs/reference/figures.md follow from the measured figures."""

from __future__ import annotations

import re

import pytest

from tests.bench import how_far

TEXT = how_far.HEADING + how_far.PAGE.read_text(encoding="utf-8").partition(how_far.HEADING)[2]


def test_section_follows_from_its_own_figures() -> None:
    measured, machine = how_far.read(TEXT)
    assert how_far.section(measured, machine) == TEXT


def test_arithmetic_on_the_page_is_correct() -> None:
    """Each product and quotient on the page is recalculated, independently of the code that wrote the page."""
    products = re.findall(r"([\d,]+) x ([\d,.]+)(?: GB)?(?: / ([\d,]+))? = ([\d,]+)", TEXT)
    assert len(products) >= 5
    for left, right, divisor, result in products:
        one, two, by, claimed = (float(part.replace(",", "") or 1) for part in (left, right, divisor, result))
        # the page shows two digits but calculates with all of them
        assert claimed == pytest.approx(one * two / by, rel=0.02, abs=1)
