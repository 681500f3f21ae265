"""The commands `pack` and `unpack`: replays to replay logs and back."""
