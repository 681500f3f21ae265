"""Finds the moments that instant replays and queues show, as clips of replays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from slpstream.formats.slippi.game_time import first_frame
from slpstream.game.dolphin_queue import FRAMES_PER_SECOND, Clip, around, replay_path
from slpstream.model.errors import NoSuchMoment
from slpstream.model.prepared import prepared
from slpstream.parts.interface import Host
from slpstream.parts.playback_dolphin.endpoints import WantedReplay
from slpstream.parts.services import Marks
from slpstream.store import HighlightRow

MARK_FRAMES = 240
"""A moment begins this long before its mark, because people mark it when it is over."""
STOCK_FRAMES = 180
"""The moment of a stock begins this long before the stock is lost."""


class Found(NamedTuple):
    """A moment, consisting of its game and the clip that shows it."""

    game_id: str
    clip: Clip


class _Span(msgspec.Struct, rename="camel"):
    """A conversion or a stock in the stats."""

    start_frame: int
    end_frame: int | None = None


@prepared
class _Stats(msgspec.Struct):
    """The conversions and stocks of the stats, and the length of the game."""

    conversions: list[_Span] = []
    stocks: list[_Span] = []
    last_frame: int | None = msgspec.field(default=None, name="lastFrame")
    playable_frame_count: int = msgspec.field(default=0, name="playableFrameCount")


def distinct(rows: Sequence[HighlightRow]) -> list[HighlightRow]:
    """Return the highlights without those situations that are within other highlights, because these show them too."""
    return [row for row in rows if not any(_is_within(row, other) for other in rows)]


def _is_within(row: HighlightRow, other: HighlightRow) -> bool:
    """Whether a row is a situation whose frames another row shows. If two ranges are equal, the first one counts."""
    inner, outer = row.highlight, other.highlight
    if row is other or row.game_id != other.game_id or inner.of != "situation":
        return False
    if (inner.start_frame, inner.end_frame) == (outer.start_frame, outer.end_frame):
        return other.number < row.number
    return outer.start_frame <= inner.start_frame and inner.end_frame <= outer.end_frame


class Moments:
    """The moments in the games of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def path(self, game_id: str) -> Path | None:
        """Return the replay of a game, or `None` if there is none that Dolphin can play."""
        found = await self._host.games.find(game_id)
        return None if found is None else replay_path(found)

    async def find(self, station: str, wanted: WantedReplay) -> Found:
        """Return the clip of the wanted moment. Raises `NoSuchMoment` if it doesn't exist."""
        if wanted.moment == "mark":
            return await self._of_mark(station, wanted.mark)
        if wanted.moment == "frames":
            if wanted.game is None or wanted.first is None or wanted.last is None:
                raise NoSuchMoment("`frames` needs `game`, `from` and `to`")
            return await self._found(station, wanted.game, wanted.first, wanted.last)
        game_id = await self._newest_game(station)
        stats = await self._decoded_stats(game_id)
        if wanted.moment == "last_stock":
            frames = [stock.end_frame for stock in stats.stocks if stock.end_frame is not None]
            if not frames:
                raise NoSuchMoment("no stock was lost in this game")
            return await self._found(station, game_id, max(frames) - STOCK_FRAMES, max(frames))
        if not stats.conversions:
            raise NoSuchMoment("there was no conversion in this game")
        newest = max(stats.conversions, key=lambda each: each.start_frame)
        end = stats.last_frame if newest.end_frame is None else newest.end_frame
        return await self._found(station, game_id, newest.start_frame, newest.start_frame if end is None else end)

    async def of_highlights(self, rows: Iterable[HighlightRow]) -> list[Clip]:
        """Return the clips of those highlights that Dolphin can play."""
        clips = []
        for row in rows:
            path = await self.path(row.game_id)
            highlight = row.highlight
            clip = None if path is None else around(path, highlight.start_frame, highlight.end_frame)
            if clip is not None:
                clips.append(clip)
        return clips

    async def _of_mark(self, station: str, mark: int | None) -> Found:
        marks = self._host.find(Marks)
        for each in ([] if marks is None else await marks.marks(station)) or []:
            if mark in (None, each.id):
                return await self._found(station, each.game_id, each.frame - MARK_FRAMES, each.frame)
        raise NoSuchMoment("there is no such mark")

    async def _found(self, station: str, game_id: str, first: int, last: int) -> Found:
        path = await self.path(game_id)
        if path is None:
            raise NoSuchMoment(f"no replay of game {game_id} that Dolphin can play")
        clip = around(
            path,
            first,
            last,
            first_frame=await self._first_frame(game_id),
            last_frame=await self._last_frame(game_id),
            station=station,
        )
        if clip is None:
            raise NoSuchMoment("the game does not have these frames")
        return Found(game_id, clip)

    async def _last_frame(self, game_id: str) -> int | None:
        for channel in self._host.hub.channels.values():
            for game in channel.games:
                if game.game_id == game_id and game.newest_frame_number is not None:
                    return game.newest_frame_number
        found = await self._host.games.find(game_id)
        return None if found is None else found.row.last_frame

    async def _first_frame(self, game_id: str) -> int:
        """Return the first frame of a game.

        We get it from the length of the game or, while it is being played, from its stats.
        """
        found = await self._host.games.find(game_id)
        last, seconds = (None, None) if found is None else (found.row.last_frame, found.row.duration_seconds)
        stats = None if seconds else await self._host.games.stats(game_id)
        if stats is None:
            return first_frame(last, seconds)
        known = msgspec.json.decode(stats.body, type=_Stats)
        return first_frame(known.last_frame, known.playable_frame_count / FRAMES_PER_SECOND)

    async def _newest_game(self, station: str) -> str:
        channel = self._host.hub.channels.get(station)
        game = None if channel is None else channel.current
        if game is None:
            raise NoSuchMoment("the station has played no game yet")
        return game.game_id

    async def _decoded_stats(self, game_id: str) -> _Stats:
        found = await self._host.games.stats(game_id)
        if found is None:
            raise NoSuchMoment("the game has no stats yet")
        return msgspec.json.decode(found.body, type=_Stats)
