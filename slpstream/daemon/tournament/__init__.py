"""The parts of the tournament desk that run in a daemon, each only when it is configured."""
