"""SQL: questions about 200 games, compared with peppi-py and pyarrow in the same run.

The games are the finished ones of two players among the shared replays of more than 500 kB that the peer can read,
repeated. Ours is a query of `slpstream sql`, in one process. The peer reads each file with `read_slippi`, puts the
necessary columns into a table and groups it with pyarrow; for the question about games it skips the frames
(`skip_frames=True`). The figures are ratios of CPU time, including all threads.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from slpstream.cli.replay_files import ReplayFile
from slpstream.cli.replay_work import examined
from slpstream.parts.sql.cli_reading import ReplayReader
from slpstream.parts.sql.database import open_database
from tests.bench.report import Figure, Form, ratio_of_games
from tests.bench.situations import usable_replays

FRAMES = "select post_action_state_id, count(*), avg(post_percent) from frames group by all"
GAMES = "select stage_id, count(*) from games group by all"
TARGET_RATIO = 1.0
COUNT, SHORT_COUNT = 200, 4


def run(form: Form) -> list[Figure]:
    """The ratios to the peer for a question about all frames and one about games."""
    peppi = None if find_spec("peppi_py") is None else import_module("peppi_py")
    paths = usable_replays(peppi)
    if not paths:
        return [Figure("sql", [0.0], "x", None, "no replays")]
    games = list(islice(cycle(paths), SHORT_COUNT if form.short else COUNT))
    figures = []
    for query, by_hand, target in ((FRAMES, _states, TARGET_RATIO), (GAMES, _stages, None)):
        ours = [_cpu_seconds(_answer, query, games) for _ in range(form.times)]
        theirs = [_cpu_seconds(by_hand, peppi, games) for _ in range(form.times if peppi else 0)]
        title = f"sql over {len(games):,} games, `{query}`"
        figures.append(ratio_of_games(title, ours, theirs, len(games), "peppi-py with pyarrow", target))
    return figures


def _cpu_seconds(work: Callable[[Any, Sequence[Path]], object], what: Any, games: Sequence[Path]) -> float:
    began = time.process_time()
    work(what, games)
    return time.process_time() - began


def _answer(query: str, games: Sequence[Path]) -> list[Any]:
    files = [ReplayFile(path, in_folder=False) for path in games]
    reader = ReplayReader(files, (".slp",), examined, games=None, jobs=1)
    with open_database(reader.read) as database:
        return list(database.rows(query)[1])


def _states(peppi: Any, games: Sequence[Path]) -> Any:
    """Count and mean percent by action state, like an analyst's script: game by game, then the sums."""
    sums = []
    for path in games:
        game = peppi.read_slippi(str(path))
        posts = [port.leader.post for port in game.frames.ports if port is not None]
        table = pa.table(
            {
                "state": pa.concat_arrays([post.state for post in posts]),
                "percent": pa.concat_arrays([post.percent for post in posts]),
            }
        )
        sums.append(table.group_by("state").aggregate([("percent", "count"), ("percent", "sum")]))
    return pa.concat_tables(sums).group_by("state").aggregate([("percent_count", "sum"), ("percent_sum", "sum")])


def _stages(peppi: Any, games: Sequence[Path]) -> Counter[int]:
    return Counter(peppi.read_slippi(str(path), skip_frames=True).start.stage for path in games)
