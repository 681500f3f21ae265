"""Drives a Playback Dolphin through its communication file: mirroring, instant replays, and a queue between sets."""
