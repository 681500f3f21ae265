"""Find archives and compressed replays in watched folders, so that their games get into the index."""
