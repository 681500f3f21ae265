"""Records of when a frame was written or received, for processes that log and compare them."""

from __future__ import annotations

import struct

RECORD = struct.Struct("<iiq")
"""Station index, frame number, and nanoseconds of the monotonic clock, which all processes of a machine share."""

_MAX_GAMES = 10_000


def game_of_station(station: int, game: int) -> int:
    """A number for the n-th game of a station, used instead of the station index."""
    return station * _MAX_GAMES + game
