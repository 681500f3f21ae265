"""Connects a Playback Dolphin: what it mirrors, its instant replays, and its queue between sets.

Imported only if one is configured.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import trio

from slpstream.config import Playback as PlaybackConfig
from slpstream.daemon.moments import FindGame, Moments, StatsOf, distinct
from slpstream.model.errors import NoSuchMoment
from slpstream.model.messages import ON_AIR
from slpstream.outputs.playback_dolphin.communication_file import CommunicationFile
from slpstream.outputs.playback_dolphin.playback import PlaybackDolphin
from slpstream.parts.services import Highlights, Marks
from slpstream.store import HighlightsQuery
from slpstream.stream import Hub, OnAir, Role
from slpstream.system.metrics import Metrics
from slpstream.web.instant_replay import PlaybackState, ShownReplay, WantedReplay

_LOOK_SECONDS = 1.0
_COLLECT_SECONDS = 0.25
_AFTER_SET_SECONDS = 10.0
"""The end of the last game stays visible this long before the moments of the set."""


class Playback:
    """The Playback Dolphin of one daemon, see `web.instant_replay.InstantReplays`."""

    def __init__(self, config: PlaybackConfig, hub: Hub, metrics: Metrics) -> None:
        self._config = config
        self._hub = hub
        self._station = None if config.station == ON_AIR else config.station
        self._moments: Moments | None = None
        self._over = trio.Event()
        self._running_set: Any = None
        """Id of the set that was seen being played on the mirrored station."""
        self._dolphin = PlaybackDolphin(
            CommunicationFile(Path(config.file).expanduser()),
            limiter=trio.CapacityLimiter(1),
            seek_speed=config.seek_speed,
            on_write=lambda kind: metrics.counter("slpstream_playback_commands_total", kind).inc(),
            on_failure=metrics.counter("slpstream_playback_failures_total").inc,
        )

    @property
    def unread(self) -> bool:
        """True while Dolphin does not read the file."""
        return self._dolphin.unread

    def not_ready(self) -> list[str]:
        """The reasons why Dolphin does not show what it should."""
        return self._dolphin.not_ready()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of a station. Returns at once."""
        if station != self._station:
            return
        if payload.get("state") == "running":
            self._running_set = payload.get("setId")
        elif payload.get("state") == "over" and payload.get("setId") == self._running_set is not None:
            self._running_set = None
            self._over.set()

    async def run(self, find: FindGame, stats: StatsOf, marks: Marks | None, highlights: Highlights | None) -> None:
        """Keep Dolphin up to date until cancelled. `find` and `stats` are those of `Moments`."""
        self._moments = moments = Moments(self._hub, find, stats, marks)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._dolphin.run)
            if self._config.station == ON_AIR and self._hub.on_air is not None:
                nursery.start_soon(self._follow, self._hub.on_air)
            nursery.start_soon(self._mirror, self._dolphin, moments)
            if highlights is not None:
                nursery.start_soon(self._queue_after_sets, self._dolphin, moments, highlights)

    async def _follow(self, on_air: OnAir) -> None:
        """Mirror the station on air, until cancelled."""
        while True:
            self._station = await on_air.other_than(self._station)
            channel = None if self._station is None else self._hub.channels.get(self._station)
            played = (None if channel is None else channel.set_message()) or {}
            self._running_set = played.get("setId") if played.get("state") == "running" else None

    async def _mirror(self, dolphin: PlaybackDolphin, moments: Moments) -> None:
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
                path = None if wanted is None else await moments.path(wanted[1])
                if path is not None or wanted is None:  # else the index does not have the game yet
                    mirrored = wanted
                    dolphin.mirror(path, "" if wanted is None else wanted[0])
            with trio.move_on_after(_LOOK_SECONDS):
                await (self._hub if channel is None else channel).changed()
            await trio.sleep(_COLLECT_SECONDS)

    async def _queue_after_sets(self, dolphin: PlaybackDolphin, moments: Moments, highlights: Highlights) -> None:
        while True:
            await self._over.wait()
            self._over = trio.Event()
            station = self._station
            await trio.sleep(_AFTER_SET_SECONDS)
            if station is None or station != self._station or not self._config.set_moments or self._is_playing(station):
                continue
            page = await highlights.page(HighlightsQuery(set=station, order="best", limit=self._config.set_moments))
            rows = [] if page is None else page.highlights
            rows = sorted(distinct(rows), key=lambda row: (row.listed_at_ms, row.highlight.start_frame))
            clips = await moments.of_highlights(rows)
            if station == self._station and not self._is_playing(station):
                dolphin.queue([clip._replace(station=station) for clip in clips])

    def _is_playing(self, station: str) -> bool:
        channel = self._hub.channels.get(station)
        game = None if channel is None else channel.current
        return game is not None and game.in_progress

    def state(self) -> PlaybackState:
        """The state of Dolphin, see `web.instant_replay.InstantReplays`."""
        return PlaybackState(configured=True, replaying=self._dolphin.replaying)

    async def show(self, station: str, wanted: WantedReplay) -> ShownReplay:
        """Shows a moment. Raises `NoSuchMoment`."""
        if self._moments is None:
            raise NoSuchMoment("the daemon is starting")
        game_id, clip = await self._moments.find(station, wanted)
        seconds = self._dolphin.replay(clip)
        return ShownReplay(
            game_id=game_id, start_frame=clip.start_frame, end_frame=clip.end_frame, seconds=round(seconds, 1)
        )

    def end(self) -> None:
        """Returns to the mirrored game."""
        self._dolphin.end_replay()
