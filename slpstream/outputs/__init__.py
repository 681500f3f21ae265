"""Outputs that are not parts yet: the Playback Dolphin and the broker."""
