"""Archives and compressed replays in watched folders, whose games are indexed."""
