"""One game: bytes in, log messages out; and the log read back from its file."""
