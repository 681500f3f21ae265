"""Export the replays of sets for other programs, either as a zip if someone asks for it, or into a folder when a set
ends.

The names in a zip are those that the community uses, and there is also a `context.json` that describes the set. The
names of files are made by `names`, and the document by `context`. `handed_set` decides what the zip should contain, and
`archive` writes it. The first three don't do any I/O.

In the daemon, all of this is started by `handover`. `contents` collects the replays of a set, `waiting_sets` are the
sets that have no zip yet, `ended_sets` finds those that have ended without being noticed, and `zips` does the writing.
"""
