"""The seats of all stations, which players claim on their phones. Imported only if seats are configured.

`seats` keeps the claims and the sets of stations in step, `offered_people` are the names that phones offer,
`station_codes` are the codes that lead phones to a station, and `key_file` keeps the secret of the codes.
"""

from slpstream.daemon.tournament.seats.seats import DaemonSeats

__all__ = ["DaemonSeats"]
