"""The short form of each benchmark: that it runs and measures. Time is not judged."""

from __future__ import annotations

import sys

import pytest

from tests.bench.benchmarks import BENCHMARKS
from tests.bench.report import Figure, table


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmarks read /proc")
@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_runs(name: str) -> None:
    figures = BENCHMARKS[name](short=True)
    print(table(figures))
    assert figures
    assert all(figure.value > 0 for figure in figures)


def test_a_miss_is_printed_as_a_miss() -> None:
    printed = table([Figure("a", 2.0, "ms", 1.0), Figure("b", 1.0, "ms", 1.0), Figure("c", 1.0, "ms", None)])
    rows = [line.split(" | ") for line in printed.splitlines()[2:]]
    assert [row[3].strip() for row in rows] == ["MISS", "ok", ""]
