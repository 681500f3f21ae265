"""All benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.bench import columns, decode, fanout, memory, other_formats, scenarios, stats, store
from tests.bench.report import Figure, Form

BENCHMARKS: Mapping[str, Callable[[Form], list[Figure]]] = {
    "decode": decode.run,
    "columns": columns.run,
    "stats": stats.run,
    "one_station": scenarios.one_station,
    "latency": scenarios.latency,
    "sixty_four": scenarios.sixty_four,
    "fan_out": scenarios.fan_out,
    "memory": memory.run,
    "other_formats": other_formats.run,
    "store": store.run,
    "fanout": fanout.run,
}
