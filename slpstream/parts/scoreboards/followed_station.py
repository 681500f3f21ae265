"""The station that a scoreboard shows: its board, a way to wait for the next one, and a way to choose another station.

A fixed station is chosen once. For the station on air, whoever knows it calls `turn_to` whenever it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from slpstream.parts.scoreboards.board import Board, board_of


class FollowedStation:
    """The board of one station at a time. Several scoreboards may share it."""

    def __init__(self, station: str | None = None) -> None:
        """`station` is the first one to follow; `None`: no station yet."""
        self._station = station
        self._sets: dict[str, Mapping[str, Any]] = {}
        self._changed = trio.Event()
        self.board: Board | None = None
        """The board of the station; `None` without a station, and while it has no set of two sides."""

    def turn_to(self, station: str | None) -> None:
        """Follow another station from now on; `None`: no station. Does not wait."""
        self._station = station
        self._update()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of any station. Does not wait."""
        self._sets[station] = payload
        if station == self._station:
            self._update()

    async def changed(self) -> None:
        """Return after the next change of `board`."""
        await self._changed.wait()

    def _update(self) -> None:
        payload = None if self._station is None else self._sets.get(self._station)
        board = None if payload is None else board_of(payload)
        if board != self.board:
            self.board = board
            changed, self._changed = self._changed, trio.Event()
            changed.set()
