"""The configured Playback Dolphin: the station that it mirrors, its instant replays, and its queue after a set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from slpstream.model.messages import ON_AIR
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.playback_dolphin.communication_file import CommunicationFile
from slpstream.parts.playback_dolphin.dolphin import PlaybackDolphin
from slpstream.parts.playback_dolphin.endpoints import PlaybackState, ShownReplay, WantedReplay
from slpstream.parts.playback_dolphin.moments import Moments, distinct
from slpstream.parts.playback_dolphin.part import Playback
from slpstream.parts.services import Highlights
from slpstream.store import HighlightsQuery
from slpstream.stream.game import Role

_LOOK_SECONDS = 1.0
_COLLECT_SECONDS = 0.25
_AFTER_SET_SECONDS = 10.0
"""How long you can see the end of the last game before the moments of the set begin."""


class ConfiguredDolphin(RunningPart):
    """The Playback Dolphin of a daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._hub = host.hub
        self._config = config = host.config.section(Playback)
        self._station = None if config.station == ON_AIR else config.station
        self._moments = Moments(host)
        self._over = trio.Event()
        self._running_set: Any = None
        """The id of the set that is being played on the mirrored station. Only sets that we have seen running are shown
        again."""
        metrics = host.metrics
        self._dolphin = PlaybackDolphin(
            CommunicationFile(Path(config.file).expanduser()),
            limiter=trio.CapacityLimiter(1),
            seek_speed=config.seek_speed,
            on_write=lambda kind: metrics.counter("slpstream_playback_commands_total", kind).inc(),
            on_failure=metrics.counter("slpstream_playback_failures_total").inc,
        )
        metrics.bind("slpstream_playback_unread", lambda: float(self._dolphin.unread))

    def not_ready(self) -> list[str]:
        """Return the reasons why Dolphin doesn't show the wanted game."""
        return self._dolphin.not_ready()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Note that a set of the mirrored station has begun or is over."""
        if station != self._station:
            return
        if payload.get("state") == "running":
            self._running_set = payload.get("setId")
        elif payload.get("state") == "over" and payload.get("setId") == self._running_set is not None:
            self._running_set = None
            self._over.set()

    async def run(self) -> None:
        """Keep Dolphin up to date until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._dolphin.run)
            if self._config.station == ON_AIR:
                nursery.start_soon(self._mirror_station_on_air)
            nursery.start_soon(self._mirror)
            nursery.start_soon(self._queue_after_sets)

    async def _mirror_station_on_air(self) -> None:
        while True:
            self._station = await self._host.on_air.other_than(self._station)
            channel = None if self._station is None else self._hub.channels.get(self._station)
            played = (None if channel is None else channel.set_message()) or {}
            self._running_set = played.get("setId") if played.get("state") == "running" else None

    async def _mirror(self) -> None:
        mirrored: tuple[str, str] | None = None
        while True:
            channel = None if self._station is None else self._hub.channels.get(self._station)
            game = None if channel is None else channel.current
            wanted = (
                None
                if game is None or channel is None or not game.in_progress or game.role is not Role.PLAYED
                else (channel.station, game.game_id)
            )
            if wanted != mirrored:
                path = None if wanted is None else await self._moments.path(wanted[1])
                if path is not None or wanted is None:  # else the index does not have the game yet
                    mirrored = wanted
                    self._dolphin.mirror(path, "" if wanted is None else wanted[0])
            with trio.move_on_after(_LOOK_SECONDS):
                await (self._hub if channel is None else channel).changed()
            await trio.sleep(_COLLECT_SECONDS)

    async def _queue_after_sets(self) -> None:
        while True:
            await self._over.wait()
            self._over = trio.Event()
            station = self._station
            await trio.sleep(_AFTER_SET_SECONDS)
            if station is None or station != self._station or not self._config.set_moments or self._is_playing(station):
                continue
            highlights = self._host.find(Highlights)
            if highlights is None:
                continue
            page = await highlights.page(HighlightsQuery(set=station, order="best", limit=self._config.set_moments))
            rows = [] if page is None else page.highlights
            rows = sorted(distinct(rows), key=lambda row: (row.listed_at_ms, row.highlight.start_frame))
            clips = await self._moments.of_highlights(rows)
            if station == self._station and not self._is_playing(station):
                self._dolphin.queue([clip._replace(station=station) for clip in clips])

    def _is_playing(self, station: str) -> bool:
        channel = self._hub.channels.get(station)
        game = None if channel is None else channel.current
        return game is not None and game.in_progress

    def state(self) -> PlaybackState:
        """Return whether Dolphin shows an instant replay."""
        return PlaybackState(configured=True, replaying=self._dolphin.replaying)

    async def show(self, station: str, wanted: WantedReplay) -> ShownReplay:
        """Show a moment. Raises `NoSuchMoment` if it doesn't exist."""
        game_id, clip = await self._moments.find(station, wanted)
        seconds = self._dolphin.replay(clip)
        return ShownReplay(
            game_id=game_id, start_frame=clip.start_frame, end_frame=clip.end_frame, seconds=round(seconds, 1)
        )

    def end(self) -> None:
        """Return to the mirrored game."""
        self._dolphin.end_replay()
