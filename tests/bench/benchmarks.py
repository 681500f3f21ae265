"""All benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.bench import (
    columns,
    decode,
    delta,
    fairness,
    fanout,
    games_query,
    jump,
    memory,
    obs,
    other_formats,
    overlay,
    replay_log,
    restart,
    scenarios,
    situations,
    sql,
    start,
    stats,
    store,
    strategies,
    tournament,
    training,
    wall,
)
from tests.bench.report import Figure, Form

BENCHMARKS: Mapping[str, Callable[[Form], list[Figure]]] = {
    "decode": decode.run,
    "columns": columns.run,
    "delta": delta.run,
    "jump": jump.run,
    "stats": stats.run,
    "one_station": scenarios.one_station,
    "latency": scenarios.latency,
    "sixty_four": scenarios.sixty_four,
    "many_stations": scenarios.many_stations,
    "disturbed": scenarios.disturbed,
    "fan_out": scenarios.fan_out,
    "hostile": scenarios.hostile,
    "memory": memory.run,
    "obs": obs.run,
    "overlay": overlay.run,
    "restart": restart.run,
    "situations": situations.run,
    "sql": sql.run,
    "start": start.run,
    "other_formats": other_formats.run,
    "store": store.run,
    "games_query": games_query.run,
    "strategies": strategies.run,
    "tournament": tournament.run,
    "training": training.run,
    "wall": wall.run,
    "replay_log": replay_log.run,
    "fanout": fanout.run,
    "fairness": fairness.run,
}
