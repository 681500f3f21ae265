"""Sources of replay bytes: growing files, and replays in archives."""
