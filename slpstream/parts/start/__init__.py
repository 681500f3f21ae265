"""The command `start`: a daemon without a configuration, and its dashboard in a browser."""
