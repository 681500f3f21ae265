"""Drives a Playback Dolphin through its communication file: mirroring, instant replays, and a queue between sets.

`commands` is the content of the file, `communication_file` writes it, and `dolphin` chooses the next command. `moments`
finds the clips of instant replays and queues. `configured` is the running part.
"""
