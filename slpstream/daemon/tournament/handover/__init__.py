"""Exports the replays of sets: as a zip on demand, and into a folder when a set ends.

`handover` does both. `contents` collects the replays of a set, `waiting_sets` are the sets whose zip is not written
yet, `ended_sets` finds those that ended unnoticed, and `zips` writes.
"""

from slpstream.daemon.tournament.handover.handover import Handover

__all__ = ["Handover"]
