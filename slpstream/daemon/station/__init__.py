"""One station: the files that it follows, the games in them, and its state."""
