"""The command `follow`: the log messages of a file that is still being written, as JSON lines."""
