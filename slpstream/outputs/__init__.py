"""The Playback Dolphin, which is not a part yet."""
