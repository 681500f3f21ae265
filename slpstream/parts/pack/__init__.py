"""The commands `pack` and `unpack`, which turn replays into replay logs and back."""
