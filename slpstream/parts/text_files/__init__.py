"""The state of each station as small text files, for OBS and for other programs that show text from a file."""
