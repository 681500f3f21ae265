"""The page on how far it goes follows from the figures that stand on it."""

from __future__ import annotations

import pytest

from tests.bench import how_far

TEXT = how_far.PAGE.read_text(encoding="utf-8")


def test_the_page_is_made_of_its_own_figures() -> None:
    measured, machine = how_far.read(TEXT)
    assert how_far.page(measured, machine) == TEXT


def test_the_arithmetic_is_that_of_the_page() -> None:
    """Not by the same code: what the page multiplies and divides is worked out again."""
    import re

    products = re.findall(r"([\d,]+) x ([\d,.]+)(?: GB)?(?: / ([\d,]+))? = ([\d,]+)", TEXT)
    assert len(products) >= 5
    for left, right, divisor, result in products:
        one, two, by, claimed = (float(part.replace(",", "") or 1) for part in (left, right, divisor, result))
        # what is shown with two digits is calculated with all of them
        assert claimed == pytest.approx(one * two / by, rel=0.02, abs=1)


def test_another_figure_makes_another_page() -> None:
    measured, machine = how_far.read(TEXT)
    changed = how_far.page(measured._replace(broker_in_per_core=measured.broker_in_per_core // 2), machine)
    assert changed != TEXT
    assert how_far.read(changed)[0].broker_in_per_core == measured.broker_in_per_core // 2


def test_a_page_without_figures_is_none() -> None:
    with pytest.raises(ValueError, match="no figures"):
        how_far.read("# How far it goes\n")
