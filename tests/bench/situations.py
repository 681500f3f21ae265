"""Situations: a query over 1,000 games, compared with peppi-py and numpy masks over all frames in the same run.

The games are the finished ones of two players among the shared replays of more than 500 kB that the peer can read,
repeated. (An unfinished replay is read event by event, which takes twenty times as long.) The peer reads each file with
`read_slippi` and finds the same throws and aerials by masks over all frames, like an analyst's script: no rollbacks, no
kills, no other rules. Ours is `open_replay(path).situations(query)`. Both run in one process; the figures are ratios of
CPU time. In most games a single column shows that the throw is missing, so a third query, about any hits, reads all
columns of each game.

Searching frame by frame, like the daemon, is timed for each frame of one game.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from slpstream.api import open_replay
from slpstream.model.errors import FormatError
from slpstream.model.events import final_frames
from slpstream.parts.situations.search import LiveSituations, parsed
from tests.bench.report import Figure, Form, ratio_of_games
from tests.replays import SHARED, SLP

QUERY = "upthrow -> upair, percent:<110, within:5s"
KILLS = "upthrow -> upair, kill, percent:<110"
HITS = "hit -> hit, percent:<110, within:5s"
TARGET_RATIO = 3.0
TARGET_MICROSECONDS = 30.0
GAMES, SHORT_GAMES = 1_000, 4
MIN_BYTES = 500_000
_THROW, _AERIAL, _FRAMES = 55, 16, 300
_QUERIES = (QUERY, KILLS, HITS)


def run(form: Form) -> list[Figure]:
    """The ratio to the peer for a plain query and one about kills, and the time for a frame during a game."""
    peppi = None if find_spec("peppi_py") is None else import_module("peppi_py")
    paths = usable_replays(peppi)
    if not paths:
        return [Figure("situations", [0.0], "x", None, "no replays")]
    games = list(islice(cycle(paths), SHORT_GAMES if form.short else GAMES))
    seconds: dict[str, list[float]] = {name: [] for name in (*_QUERIES, "peer", "peer, hits")}
    for _ in range(form.times):
        for query in _QUERIES:
            seconds[query].append(_cpu_seconds(partial(_search, query), games))
        if peppi is not None:
            seconds["peer"].append(_cpu_seconds(partial(_by_masks, peppi), games))
            seconds["peer, hits"].append(_cpu_seconds(partial(_by_masks, peppi, any_move=True), games))
    figures = []
    for query in _QUERIES:
        theirs = seconds["peer, hits" if query == HITS else "peer"]
        title = f"situations in {len(games):,} games, `{query}`"
        figures.append(ratio_of_games(title, seconds[query], theirs, len(games), "peppi-py with masks", TARGET_RATIO))
    figures.append(_live(max(paths, key=lambda path: path.stat().st_size), form))
    return figures


def usable_replays(peppi: Any) -> list[Path]:
    """The finished games of two players that `peppi`, the module of the peer or `None`, can read too."""
    folders = (SLP, SHARED / "controllers")
    paths = [path for folder in folders for path in sorted(folder.glob("*.slp")) if path.stat().st_size > MIN_BYTES]
    return [path for path in paths if _is_usable(path) and (peppi is None or _can_read(peppi, path))]


def _cpu_seconds(work: Callable[[Path], object], games: list[Path]) -> float:
    began = time.process_time()
    for path in games:
        work(path)
    return time.process_time() - began


def _search(query: str, path: Path) -> int:
    return len(open_replay(path).situations(query))


def _by_masks(peppi: Any, path: Path, *, any_move: bool = False) -> int:
    """Count up airs after an up throw, or hits after a hit, by masks over the frames of peppi-py."""
    game = peppi.read_slippi(str(path))
    posts = [port.leader.post for port in game.frames.ports if port is not None]
    found = 0
    for own, other in (posts, posts[::-1]):
        percent = other.percent.to_numpy(zero_copy_only=False)
        hits = np.zeros(len(percent), np.bool_)
        hits[1:] = percent[1:] > percent[:-1]
        throws, aerials = hits, hits & (percent < 110)
        if not any_move:
            move = own.last_attack_landed.to_numpy(zero_copy_only=False)
            throws, aerials = throws & (move == _THROW), aerials & (move == _AERIAL)
        first, rows = np.flatnonzero(throws), np.flatnonzero(aerials)
        after, within = (np.searchsorted(rows, first + frames, side="right") for frames in (0, _FRAMES))
        found += int(np.count_nonzero(within > after))
    return found


def _is_usable(path: Path) -> bool:
    try:
        replay = open_replay(path)
        return len(replay.settings.players) == 2 and replay.game_end.game_end is not None
    except FormatError:
        return False


def _can_read(peppi: Any, path: Path) -> bool:
    try:
        _by_masks(peppi, path)
    except (OSError, ValueError, RuntimeError, AttributeError):
        return False
    return True


def _live(path: Path, form: Form) -> Figure:
    """Search one final frame of two players for one query, as in the daemon."""
    replay = open_replay(path)
    frames = list(final_frames(replay.events()))
    microseconds = []
    for _ in range(form.times):
        search = LiveSituations(parsed(KILLS), replay.settings)
        began = time.process_time()
        for frame in frames:
            search.feed(frame)
        microseconds.append(1e6 * (time.process_time() - began) / len(frames))
    return Figure("situations, one frame of a running game", microseconds, "µs", TARGET_MICROSECONDS, path.stem)
