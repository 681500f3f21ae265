"""The command `init`, which writes a first configuration file."""
