"""Untrusted text in CSV: spreadsheets do not run it as a formula, and every text can be restored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.model.csv_cells import SPECIAL, csv_cell

FORMULAS = ["=1+1|x", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "＋1", "－1", "＠a"]
TEXTS = ["", "a", "Fox", "1", "a=1", "a\n=1", "'a", "''=1", "' =1", "ä", "0x", "\u00a0=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


def test_other_text_is_unchanged() -> None:
    assert [csv_cell(text) for text in ("", "a", "1", "a=1", "a\n=1", "ä")] == ["", "a", "1", "a=1", "a\n=1", "ä"]


@given(st.one_of(st.sampled_from([*FORMULAS, *TEXTS]), st.text("'=+ \ta", max_size=5), st.text(max_size=5)))
def test_removing_one_apostrophe_restores_the_text(text: str) -> None:
    assert csv_cell(text).removeprefix("'") == text


def test_arrow_escapes_the_same_texts() -> None:
    compute = pytest.importorskip("pyarrow.compute")
    pa = pytest.importorskip("pyarrow")
    texts = [*FORMULAS, *TEXTS]
    cells = compute.replace_substring_regex(pa.array(texts), pattern=SPECIAL, replacement=r"'\1")
    assert cells.to_pylist() == [csv_cell(text) for text in texts]
