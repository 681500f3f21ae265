"""Results of benchmarks: figures with their targets and notes, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple


class Form(NamedTuple):
    """How thoroughly to measure."""

    short: bool = False
    """As short as possible: the run proves that a benchmark works, but its figures are meaningless."""
    runs: int = 3
    """Runs of each benchmark; the figure is their median."""

    @property
    def times(self) -> int:
        """Runs of each benchmark in this form."""
        return 1 if self.short else self.runs

    def seconds(self, thorough: float) -> float:
        """The duration of each run: `thorough`, or a second in the short form."""
        return 1.0 if self.short else thorough


class Figure(NamedTuple):
    """A row of the table, with one value for each run.

    `target` is the maximum for the median, or the minimum if `at_least` is set; `None` without a target.
    """

    benchmark: str
    values: Sequence[float]
    unit: str
    target: float | None = None
    note: str = ""
    at_least: bool = False

    @property
    def value(self) -> float:
        """The median of the runs."""
        return median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the target is met; `None` without a target."""
        if self.target is None:
            return None
        return self.value >= self.target if self.at_least else self.value <= self.target

    def record(self) -> dict[str, Any]:
        """The figure as JSON values."""
        return {
            "benchmark": self.benchmark,
            "value": self.value,
            "runs": list(self.values),
            "unit": self.unit,
            "target": self.target,
            "at_least": self.at_least,
            "met": self.met,
            "note": self.note,
        }


def quantile(values: Sequence[float], share: float) -> float:
    """A quantile of values in ascending order."""
    return values[min(len(values) - 1, int(len(values) * share))]


def ratio_of_games(
    title: str, ours: Sequence[float], theirs: Sequence[float], games: int, peer: str, target: float | None
) -> Figure:
    """Our speed over some games as a multiple of a peer's, from the seconds of each run; empty without a peer."""
    note = f"{1e3 * min(ours) / games:.2f} ms a game"
    if not theirs:
        return Figure(title, [0.0], "x", None, f"{note}; no peer: {peer} is missing")
    note += f", {peer} {1e3 * min(theirs) / games:.2f} ms"
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    return Figure(title, ratios, "x", target, note, at_least=True)


def spread(values: Sequence[float]) -> str:
    """The median and the range of the runs."""
    if len(values) == 1:
        return f"{values[0]:.3g}"
    return f"{median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| benchmark | figure | target | met | note |", "| --- | --- | --- | --- | --- |"]
    for figure in figures:
        bound = "at least " if figure.at_least else ""
        target = "" if figure.target is None else f"{bound}{figure.target:g} {figure.unit}"
        met = {None: "", True: "ok", False: "MISS"}[figure.met]
        lines.append(
            f"| {figure.benchmark} | {spread(figure.values)} {figure.unit} | {target} | {met} | {figure.note} |"
        )
    return "\n".join(lines)
