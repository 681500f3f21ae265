"""The moments that operators have marked. We keep them in the index, so that they survive a restart."""

from __future__ import annotations

import time

import msgspec
import trio

from slpstream.model.errors import NoSuchMoment
from slpstream.model.messages import timestamp
from slpstream.model.prepared import prepared
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import Mark, Marks, NewMark
from slpstream.system.logs import get_logger

MAX_MARKS = 200
"""Marks kept for a station."""


@prepared
class _Kept(msgspec.Struct):
    """The marks of a station in the form in which the index keeps them, beginning with the oldest."""

    last_id: int = 0
    marks: list[Mark] = []


class StationMarks(RunningPart):
    """The marks of all stations, except for those in a demo."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._changing = trio.Lock()
        self._log = get_logger()
        host.provide(Marks, self)

    async def marks(self, station: str) -> list[Mark] | None:
        """Return the marks of the given station, beginning with the newest.

        Returns `None` if the station doesn't keep any.
        """
        if not self._keeps(station):
            return None
        return (await self._kept(station)).marks[::-1]

    async def mark(self, station: str, wanted: NewMark) -> Mark | None:
        """Mark a moment. Returns `None` if the station doesn't keep marks.

        Raises `NoSuchMoment` if the moment doesn't exist.
        """
        if not self._keeps(station):
            return None
        # The newest frame of the moment in which the request came, not of when the others were read.
        newest = self._newest(station)
        game_id, frame = await self._moment(wanted, newest)
        async with self._changing:
            kept = await self._kept(station)
            made = Mark(
                id=kept.last_id + 1, game_id=game_id, frame=frame, at=timestamp(time.time()), words=wanted.words.strip()
            )
            kept = _Kept(made.id, [*kept.marks, made][-MAX_MARKS:])
            self._host.index.remember(_key(station), msgspec.to_builtins(kept))
        self._log.info("moment marked", station=station, game_id=game_id, frame=frame, words=made.words)
        return made

    async def unmark(self, station: str, mark: int) -> list[Mark] | None:
        """Remove a mark, and return all others, beginning with the newest.

        If there's no such mark, this returns `None`.
        """
        if not self._keeps(station):
            return None
        async with self._changing:
            kept = await self._kept(station)
            left = [each for each in kept.marks if each.id != mark]
            if len(left) == len(kept.marks):
                return None
            self._host.index.remember(_key(station), msgspec.to_builtins(_Kept(kept.last_id, left)))
        self._log.info("mark removed", station=station, mark=mark)
        return left[::-1]

    def _keeps(self, station: str) -> bool:
        stations = self._host.stations
        return station in stations and not stations.is_temporary(station)

    async def _kept(self, station: str) -> _Kept:
        kept = await self._host.index.remembered(_key(station))
        try:
            return _Kept() if kept is None else msgspec.convert(kept, _Kept)
        except msgspec.ValidationError as error:
            self._log.error("marks cannot be read", station=station, what=str(error))
            return _Kept()

    def _newest(self, station: str) -> tuple[str, int] | None:
        """Return the newest frame of the given station's game, or `None` if there isn't one."""
        channel = self._host.hub.channels.get(station)
        game = None if channel is None else channel.current
        number = None if game is None else game.newest_frame_number
        return None if game is None or number is None else (game.game_id, number)

    async def _moment(self, wanted: NewMark, newest: tuple[str, int] | None) -> tuple[str, int]:
        """Return the game and the frame that should be marked. Raises `NoSuchMoment` if they don't exist."""
        if wanted.game_id is not None and (newest is None or newest[0] != wanted.game_id):
            found = await self._host.index.game(wanted.game_id)
            if found is None:
                raise NoSuchMoment(f"no such game: {wanted.game_id}")
            if found.row.last_frame is None and wanted.frame is not None:  # its end is not known (yet)
                return wanted.game_id, wanted.frame
            newest = None if found.row.last_frame is None else (wanted.game_id, found.row.last_frame)
        if newest is None:
            raise NoSuchMoment("no game is played")
        frame = newest[1] if wanted.frame is None else wanted.frame
        if frame > newest[1]:
            raise NoSuchMoment(f"the game has frames up to {newest[1]} only")
        return newest[0], frame


def _key(station: str) -> str:
    return f"marks.{station}"
