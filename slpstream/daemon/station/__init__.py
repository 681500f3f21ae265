"""One station: the files that it follows, the games in them, and its state."""

from slpstream.daemon.station.services import SharedServices, Timing
from slpstream.daemon.station.station import Station

__all__ = ["SharedServices", "Station", "Timing"]
