"""What a benchmark says: a figure, its target, whether it is met, and what stands beside it."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """One line of the table. `target` is a bound from above in the same unit, `None` when the figure has none."""

    benchmark: str
    value: float
    unit: str
    target: float | None
    beside: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; `None` without a target."""
        return None if self.target is None else self.value <= self.target


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| benchmark | figure | target | | beside |", "| --- | --- | --- | --- | --- |"]
    for f in figures:
        target = "" if f.target is None else f"{f.target:g} {f.unit}"
        met = {None: "", True: "ok", False: "MISS"}[f.met]
        lines.append(f"| {f.benchmark} | {f.value:.3g} {f.unit} | {target} | {met} | {f.beside} |")
    return "\n".join(lines)
