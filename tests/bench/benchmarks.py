"""All benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.bench import (
    calls,
    columns,
    controllers,
    decode,
    delta,
    fanout,
    games_query,
    memory,
    other_formats,
    overlay,
    replay_log,
    scenarios,
    situations,
    sql,
    start,
    stats,
    store,
    tournament,
    training,
    wall,
)
from tests.bench.report import Figure, Form

BENCHMARKS: Mapping[str, Callable[[Form], list[Figure]]] = {
    "decode": decode.run,
    "columns": columns.run,
    "controllers": controllers.run,
    "delta": delta.run,
    "stats": stats.run,
    "calls": calls.run,
    "one_station": scenarios.one_station,
    "latency": scenarios.latency,
    "sixty_four": scenarios.sixty_four,
    "odds": scenarios.odds,
    "idle": scenarios.idle,
    "many_stations": scenarios.many_stations,
    "disturbed": scenarios.disturbed,
    "fan_out": scenarios.fan_out,
    "hostile": scenarios.hostile,
    "memory": memory.run,
    "overlay": overlay.run,
    "situations": situations.run,
    "sql": sql.run,
    "start": start.run,
    "other_formats": other_formats.run,
    "store": store.run,
    "games_query": games_query.run,
    "tournament": tournament.run,
    "training": training.run,
    "wall": wall.run,
    "replay_log": replay_log.run,
    "fanout": fanout.run,
}
