"""Exports the replays of sets for other programs: as a zip on demand, and into a folder when a set ends.

A zip has names that the community uses, and a `context.json` about the set. `names` makes the names of files, `context`
the document, `handed_set` decides the contents of the zip, and `archive` writes it. The first three are pure.

In the daemon, `handover` does the work. `contents` collects the replays of a set, `waiting_sets` are the sets whose zip
is not written yet, `ended_sets` finds those that ended unnoticed, and `zips` writes.
"""
