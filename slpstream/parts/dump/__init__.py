"""The command `dump`: the log messages of replays as JSON lines."""
