"""The log of each game as a file of JSON lines."""
