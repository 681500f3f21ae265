"""The sets of some stations with an index on disk, in the event loop of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
import trio.testing

from slpstream.daemon.sets import StationSets
from slpstream.model.events import Event
from slpstream.sets import Rules
from slpstream.store import FILE_NAME, GameIndex, open_database
from slpstream.stream.channel import Channel, Hub
from tests.daemons.station import TIMEOUT_SECONDS
from tests.store import samples


class Sets:
    """The sets of some stations, and their published messages."""

    def __init__(self, index: GameIndex, hub: Hub, board: StationSets) -> None:
        self.index = index
        self.hub = hub
        self.board = board
        self.published: list[tuple[str, Any]] = []
        self._events: dict[int, list[Event]] = {}

    def play(self, number: int, *events: Any, station: str = "main", at_minute: float | None = None) -> None:
        """Index the next events of a game. Each number begins five minutes after the previous one."""
        minute = 5 * number if at_minute is None else at_minute
        so_far = self._events.setdefault(number, [])
        so_far += events
        path = Path(f"/replays/{station}/{number}.slp")
        mtime_ns = int((samples.DAY_ONE + 60 * minute) * samples.SECOND)
        self.index.played(station, path, mtime_ns, 1000, samples.record(*so_far))

    async def until(self, score: list[int], station: str = "main", **also: object) -> Any:
        """Wait until a station publishes this score, with these members."""
        with trio.fail_after(TIMEOUT_SECONDS):
            while (
                (message := self.hub.channels[station].set_message()) is None
                or message["score"] != score
                or any(message[name] != value for name, value in also.items())
            ):
                await self.hub.channels[station].changed()
        return message


async def no_archive(game_id: str) -> None:
    """Locates no old games."""
    raise AssertionError(game_id)


@asynccontextmanager
async def running_sets(folder: Path, *stations: str) -> AsyncIterator[Sets]:
    """The sets of stations until the block ends."""
    hub = Hub()
    for station in stations or ("main",):
        hub.add(Channel(station, no_archive))
    board = StationSets(hub, Rules())
    index = GameIndex(open_database(folder / FILE_NAME), None, on_change=board.changed)
    sets = Sets(index, hub, board)
    board.listen(lambda station, payload: sets.published.append((station, payload)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(index.run)
        nursery.start_soon(board.run, index)
        await trio.testing.wait_all_tasks_blocked()
        yield sets
        nursery.cancel_scope.cancel()
