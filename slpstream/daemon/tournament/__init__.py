"""The parts of the tournament desk that run in the daemon, each only if it is configured."""
