"""Read replays in archives and compressed replays in memory; nothing is unpacked to disk.

`members` reads an archive once, in order; `packed` finds one replay by its name.
"""
