"""How you declare a Prometheus metric. The core and the parts both use this, and it is cheap to import."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Row(NamedTuple):
    """One metric."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    known_values: tuple[str, ...] = ()
    """Values of the last label that are exported as 0 from the start: a counter that appears only with its first event
    shows no increase."""
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets, in seconds."""
    idle: float | None = None
    """The value of a gauge without labels while nothing has bound it, because its part is not configured; `None` leaves
    the sample out."""
