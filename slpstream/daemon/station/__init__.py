"""One station: the files that it follows, the games in them, and its state."""

from slpstream.daemon.station.station import SharedServices, Station, Timing

__all__ = ["SharedServices", "Station", "Timing"]
