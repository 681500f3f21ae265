"""Writes a replay again the way a game would, at the pace of the game; and the matches of the demo."""
