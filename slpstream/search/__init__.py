"""Searching games: queries over the index of games, and situations over frames."""
