"""The benchmarks by name, each called with `short=`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.bench import decode, live, memory
from tests.bench.report import Figure

BENCHMARKS: Mapping[str, Callable[..., list[Figure]]] = {
    "decode": decode.run,
    "one-station": live.one_station,
    "sixty-four": live.sixty_four_stations,
    "subscribers": live.thousand_subscribers,
    "memory": memory.run,
}
