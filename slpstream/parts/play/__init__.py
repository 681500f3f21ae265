"""The command `play`, which prints a range of frames."""
