"""Daemons in the process of the test, with consoles and relays on free ports of 127.0.0.1."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import trio

from slpstream.config import Config, Server, StationConfig, Store
from slpstream.config.sections import Recordings
from slpstream.daemon.daemon import Daemon
from slpstream.parts.consoles.part import Relay

ReadAgain = Callable[[Config], tuple[Config, list[StationConfig]]]
"""Derives the next configuration from the current one."""


@asynccontextmanager
async def daemon_of(
    tmp_path: Path, *stations: StationConfig, relay: Relay | None = None, read_again: ReadAgain | None = None
) -> AsyncIterator[Daemon]:
    config = Config(
        server=Server(port=0),
        store=Store(folder=str(tmp_path / "state"), index_old_files=False),
        recordings=Recordings(folder=str(tmp_path / "recordings")),
        parts={"relay": [relay]} if relay else {},
    )
    again = None if read_again is None else partial(read_again, config)
    daemon = Daemon(config, list(stations), read_again=again, strict=True)
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
        yield daemon
        daemon.stop()
