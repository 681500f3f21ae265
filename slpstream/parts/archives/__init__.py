"""Read archives and compressed replays in memory, and index them if they are in watched folders.

`members` reads an archive once, in order, and `by_name` finds a single replay by its name.
"""
