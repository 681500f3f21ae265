"""The demo of a running daemon: one bundled match, which is played in real time in a temporary station.

This station has a temporary folder. Its game isn't indexed, counted in any set or sent to any output. The station and
the folder are removed when the match is over or the demo is stopped.
"""

from __future__ import annotations

import shutil
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import trio

from slpstream.config import StationConfig, station_id
from slpstream.model.errors import SlpstreamError, SourceError
from slpstream.parts.demo.bundled import bundled_match
from slpstream.parts.demo.setup import Setup, setup_of
from slpstream.parts.demo.simulated import write_replay
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import DemoObjection
from slpstream.system.logs import get_logger

_SHOWN_SECONDS = 20.0
"""How long you can see the result before the station is removed."""


class DemoRefused(SlpstreamError):
    """A demo can't be started now."""


class Demo(RunningPart):
    """The demo of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._nursery: trio.Nursery | None = None
        self._playing: trio.CancelScope | None = None
        self._changing = trio.Lock()
        self._over = trio.Event()
        self._plays = 0
        self.station: str | None = None
        """The id of the demo's station, or `None` if no demo is running."""
        self._log = get_logger()

    async def run(self) -> None:
        """Let demos run until cancelled."""
        try:
            async with trio.open_nursery() as self._nursery:
                await trio.sleep_forever()
        finally:
            self._nursery = None

    async def start(self) -> None:
        """Start a demo, and wait until its station exists. If one is already running, this does nothing.

        Raises `DemoRefused` if a demo can't be started now.
        """
        objection, running = self._host.find(DemoObjection), self._host.stations
        if objection is not None:
            raise DemoRefused(objection.reason_against_demo())
        async with self._changing:
            if self.station is not None:
                return
            if self._nursery is None:
                raise DemoRefused("the daemon is still starting")
            if any(station.state == "playing" for station in running.stations):
                raise DemoRefused("a game is being played: its viewers would see the demo too")
            try:
                folder = Path(await trio.to_thread.run_sync(partial(tempfile.mkdtemp, prefix="slpstream-demo-")))
            except OSError as error:
                raise DemoRefused(f"no temporary folder can be made: {error.strerror or error}") from error
            self._plays += 1
            self._over = trio.Event()
            self.station = station_id("demo", running)
            self._playing = trio.CancelScope()
            await self._nursery.start(self._play, self.station, folder, self._playing)

    async def stop(self) -> None:
        """End the demo, and wait until its station is gone. If none is running, this does nothing."""
        if self.station is not None and self._playing is not None:
            self._playing.cancel()
            await self._over.wait()

    async def setup(self) -> Setup:
        """Return the set-up of the daemon, with the station of the demo."""
        return await setup_of(self._host.stations)

    async def _play(
        self,
        station: str,
        folder: Path,
        scope: trio.CancelScope,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await self._host.stations.add(StationConfig(id=station, folder=str(folder), name="Demo"), "temporary")
            task_status.started()
            with scope:
                match = partial(bundled_match, self._plays, started_at=datetime.now(UTC))
                data = await trio.to_thread.run_sync(match)
                await write_replay(data, folder / "Game_demo.slp", writer="frame")
                await trio.sleep(_SHOWN_SECONDS)
        except SourceError as error:
            self._log.warning("demo ended", what=str(error))
        finally:
            with trio.CancelScope(shield=True):
                await self._host.stations.remove(station, "the demo is over", origin="temporary")
                await trio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))
            self.station = None
            self._over.set()
