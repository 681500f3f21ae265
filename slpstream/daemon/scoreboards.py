"""The configured scoreboards of a daemon. This module is imported only when there are any, and that of a kind only when
one of the kind is configured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.config import Scoreboard as ScoreboardConfig
from slpstream.model.messages import ON_AIR
from slpstream.outputs.scoreboards.board import Board
from slpstream.outputs.scoreboards.followed_station import FollowedStation
from slpstream.outputs.scoreboards.scoreboard import Outcome, Scoreboard, Update
from slpstream.stream import OnAir
from slpstream.system.metrics import Metrics

_DEFAULT_URL = "http://127.0.0.1:5000"


class Scoreboards:
    """All scoreboards. `run` each of `boards`."""

    def __init__(self, wanted: Sequence[ScoreboardConfig], metrics: Metrics, limiter: trio.CapacityLimiter) -> None:
        """Files are written in threads of `limiter`."""
        self._metrics = metrics
        self._limiter = limiter
        self._on_air = FollowedStation()
        self._followed = {ON_AIR: self._on_air}
        names = Counter[str]()
        self.boards: list[Scoreboard] = []
        for each in wanted:
            name = each.name or each.kind
            names[name] += 1
            self.boards.append(self._scoreboard(each, name if names[name] == 1 else f"{name}-{names[name]}"))

    async def follow_on_air(self, on_air: OnAir) -> None:
        """Turn scoreboards to the station on air, until cancelled."""
        station_id: str | None = None
        while True:
            station_id = await on_air.other_than(station_id)
            self._on_air.turn_to(station_id)

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of a station. Returns at once."""
        for followed in self._followed.values():
            followed.set_changed(station, payload)

    def not_ready(self) -> list[str]:
        """The scoreboards that cannot be updated."""
        return [f"scoreboard {board.name}: {board.trouble}" for board in self.boards if board.trouble is not None]

    def _scoreboard(self, wanted: ScoreboardConfig, name: str) -> Scoreboard:
        followed = self._followed.setdefault(wanted.station, FollowedStation(wanted.station))
        count = partial(self._count, name)
        if wanted.kind == "tournament-stream-helper":
            from slpstream.outputs.scoreboards import tournament_stream_helper as tsh  # noqa: PLC0415

            helper = tsh.TournamentStreamHelper(wanted.url or _DEFAULT_URL, wanted.number)
            return Scoreboard(name, followed, helper.update, check_seconds=tsh.CHECK_SECONDS, on_outcome=count)
        return Scoreboard(name, followed, self._file_update(wanted), on_outcome=count)

    def _file_update(self, wanted: ScoreboardConfig) -> Update:
        path = Path(wanted.path).expanduser()
        if wanted.kind == "melee-stream-tool":
            from slpstream.outputs.scoreboards.melee_stream_tool import MeleeStreamTool  # noqa: PLC0415

            blocking = MeleeStreamTool(path).update
        elif wanted.kind == "streamcontrol":
            from slpstream.outputs.scoreboards.streamcontrol import StreamControl  # noqa: PLC0415

            blocking = StreamControl(path, wanted.mapping).update
        else:
            from slpstream.outputs.scoreboards.text_files import TextScoreboard  # noqa: PLC0415

            blocking = TextScoreboard(path, wanted.mapping).update

        async def update(board: Board | None) -> bool:
            return await trio.to_thread.run_sync(blocking, board, limiter=self._limiter)

        return update

    def _count(self, name: str, outcome: Outcome) -> None:
        self._metrics.counter("slpstream_scoreboard_updates_total", name, outcome).inc()
