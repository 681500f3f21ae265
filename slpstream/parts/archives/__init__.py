"""Archives and compressed replays: read in memory, and indexed if they are in watched folders.

`members` reads an archive once, in order; `by_name` finds one replay by its name.
"""
