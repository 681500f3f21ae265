"""What a benchmark says: a figure, its target, whether it is met, and what stands beside it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple


class Form(NamedTuple):
    """How thoroughly to measure."""

    short: bool = False
    """As short as can be: it shows that a benchmark runs, and its figures are not to be judged."""
    runs: int = 3
    """How often each is run; the figure is the median."""

    @property
    def times(self) -> int:
        """How often, in this form."""
        return 1 if self.short else self.runs


class Figure(NamedTuple):
    """One line of the table, with one value for each run. `target` bounds the median from above, or from below with
    `least`; `None` when there is no target."""

    benchmark: str
    values: Sequence[float]
    unit: str
    target: float | None = None
    beside: str = ""
    least: bool = False

    @property
    def value(self) -> float:
        """The median of the runs."""
        return median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the target is met; `None` without a target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.least else self.value <= self.target

    def record(self) -> dict[str, Any]:
        """For programs."""
        return {
            "benchmark": self.benchmark,
            "value": self.value,
            "runs": list(self.values),
            "unit": self.unit,
            "target": self.target,
            "least": self.least,
            "met": self.met,
            "beside": self.beside,
        }


def spread(values: Sequence[float]) -> str:
    """The median, and from where to where the runs went."""
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| benchmark | figure | target | met | beside |", "| --- | --- | --- | --- | --- |"]
    for figure in figures:
        bound = "at least " if figure.least else ""
        target = "" if figure.target is None else f"{bound}{figure.target:g} {figure.unit}"
        met = {None: "", True: "ok", False: "MISS"}[figure.met]
        lines.append(
            f"| {figure.benchmark} | {spread(figure.values)} {figure.unit} | {target} | {met} | {figure.beside} |"
        )
    return "\n".join(lines)
