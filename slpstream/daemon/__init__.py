"""Everything put together: the daemon is one service with stations, sets, parts and the web server."""
