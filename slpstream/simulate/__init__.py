"""Simulation of a running game: writing a replay at the pace of the game, and the bundled matches of the demo."""
