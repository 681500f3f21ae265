"""The parts put together: stations, sets, outputs and the web server as one service, and the gateway."""
