"""Replays in archives and compressed replays, read through memory: nothing is unpacked to disk.

`members` goes through an archive once and in order, `packed` finds one replay by its name.
"""
