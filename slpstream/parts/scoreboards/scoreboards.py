"""All scoreboards of a daemon. We only import the module for a kind of tool if one of this kind was configured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.model.messages import ON_AIR
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.scoreboards.board import Board
from slpstream.parts.scoreboards.followed_station import FollowedStation
from slpstream.parts.scoreboards.part import Scoreboard as ScoreboardConfig
from slpstream.parts.scoreboards.scoreboard import Outcome, Scoreboard, Update
from slpstream.system.text import numbered

_WRITER_THREADS = 4
_DEFAULT_URL = "http://127.0.0.1:5000"


class Scoreboards(RunningPart):
    """All scoreboards."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._limiter = trio.CapacityLimiter(_WRITER_THREADS)
        self._on_air = FollowedStation()
        self._followed = {ON_AIR: self._on_air}
        self._boards: list[Scoreboard] = []
        names = Counter[str]()
        for each in host.config.sections(ScoreboardConfig):
            self._boards.append(self._scoreboard(each, numbered(each.name or each.kind, names)))
        host.metrics.bind_each(
            "slpstream_scoreboard_working", lambda: {board.name: float(board.trouble is None) for board in self._boards}
        )

    async def run(self) -> None:
        """Keep the scoreboards up to date until cancelled."""
        keep_running = self._host.errors.keep_running
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep_running, "scoreboard", self._follow_on_air)
            for board in self._boards:
                nursery.start_soon(partial(keep_running, "scoreboard", board.run, scoreboard=board.name))

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Show the set of the given station."""
        for followed in self._followed.values():
            followed.set_changed(station, payload)

    def not_ready(self) -> list[str]:
        """Return those scoreboards that can't be updated."""
        return [f"scoreboard {board.name}: {board.trouble}" for board in self._boards if board.trouble is not None]

    async def _follow_on_air(self) -> None:
        """Turn scoreboards to the station on air, until cancelled."""
        station_id: str | None = None
        while True:
            station_id = await self._host.on_air.other_than(station_id)
            self._on_air.turn_to(station_id)

    def _scoreboard(self, wanted: ScoreboardConfig, name: str) -> Scoreboard:
        followed = self._followed.setdefault(wanted.station, FollowedStation(wanted.station))
        count = partial(self._count, name)
        if wanted.kind == "tournament-stream-helper":
            from slpstream.parts.scoreboards import tournament_stream_helper as tsh  # noqa: PLC0415

            helper = tsh.TournamentStreamHelper(wanted.url or _DEFAULT_URL, wanted.number)
            return Scoreboard(name, followed, helper.update, check_seconds=tsh.CHECK_SECONDS, on_outcome=count)
        return Scoreboard(name, followed, self._file_update(wanted), on_outcome=count)

    def _file_update(self, wanted: ScoreboardConfig) -> Update:
        path = Path(wanted.path).expanduser()
        if wanted.kind == "melee-stream-tool":
            from slpstream.parts.scoreboards.melee_stream_tool import MeleeStreamTool  # noqa: PLC0415

            blocking = MeleeStreamTool(path).update
        elif wanted.kind == "streamcontrol":
            from slpstream.parts.scoreboards.streamcontrol import StreamControl  # noqa: PLC0415

            blocking = StreamControl(path, wanted.mapping).update
        else:
            from slpstream.parts.scoreboards.text_files import TextScoreboard  # noqa: PLC0415

            blocking = TextScoreboard(path, wanted.mapping).update

        async def update(board: Board | None) -> bool:
            return await trio.to_thread.run_sync(blocking, board, limiter=self._limiter)

        return update

    def _count(self, name: str, outcome: Outcome) -> None:
        self._host.metrics.counter("slpstream_scoreboard_updates_total", name, outcome).inc()
