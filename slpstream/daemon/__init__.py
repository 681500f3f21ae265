"""The parts put together: stations, consoles, sets, outputs and the web server as one service, and the gateway."""
