"""The command `play`: a range of frames."""
