"""Conditions on games, as SQL over the index and as a test of one game. Both give the same answer. Pure."""
