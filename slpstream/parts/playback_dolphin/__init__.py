"""Controls a Playback Dolphin through its communication file.

It can mirror a game, show instant replays, and play a queue between sets.

`commands` is the content of the file, `communication_file` writes it, and `dolphin` chooses the next command. `moments`
finds the clips for instant replays and queues. `configured` is the running part.
"""
