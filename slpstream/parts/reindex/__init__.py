"""The command `reindex`, which rebuilds the index of games."""
