"""Read replays that are in archives or compressed. This happens in memory, so nothing is ever unpacked to the disk.

If you want to read a whole archive, use `members`, which goes through it once in order. If you only want one replay and
know its name, use `packed`.
"""
