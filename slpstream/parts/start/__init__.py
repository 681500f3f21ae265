"""The command `start`, which runs a daemon without a configuration, and opens its dashboard in a browser."""
