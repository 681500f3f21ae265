"""What the writer and the listeners note, each in its own process."""

from __future__ import annotations

import struct

RECORD = struct.Struct("<iiq")
"""Station index, frame number, nanoseconds of the monotonic clock, which the processes of a machine share."""

_GAMES_AT_MOST = 10_000


def game_of_station(station: int, game: int) -> int:
    """One number for the n-th game of a station, in place of the station's index."""
    return station * _GAMES_AT_MOST + game
