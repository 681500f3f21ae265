"""The command `reindex`: rebuilds the index of games."""
