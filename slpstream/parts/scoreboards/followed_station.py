"""The station that a scoreboard shows. You can get its board, wait for the next one, and choose another station.

If the station is fixed, you choose it once. If it is the station on air, someone who knows it has to call `turn_to`
each time it changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slpstream.parts.scoreboards.board import Board, board_of
from slpstream.system.changing import Changing


class FollowedStation(Changing):
    """The board of one station at a time. Several scoreboards can share it.

    It changes when there is another `board`.
    """

    def __init__(self, station: str | None = None) -> None:
        """`station` is the first station to follow. If there isn't one yet, pass `None`."""
        self._station = station
        self._sets: dict[str, Mapping[str, Any]] = {}
        self.board: Board | None = None
        """The board of the station, or `None` without a station, and while it has no set of two sides."""

    def turn_to(self, station: str | None) -> None:
        """Follow another station from now on, or none if you pass `None`. This doesn't wait."""
        self._station = station
        self._update()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message, which can be from any station. This doesn't wait."""
        self._sets[station] = payload
        if station == self._station:
            self._update()

    def _update(self) -> None:
        payload = None if self._station is None else self._sets.get(self._station)
        board = None if payload is None else board_of(payload)
        if board != self.board:
            self.board = board
            self.notify()
