"""Write the state of each station to small text files, for OBS and other programs that can show text from a file."""
