"""The dashboard, which is the page with all stations, their games and sets, and the health of the daemon."""
