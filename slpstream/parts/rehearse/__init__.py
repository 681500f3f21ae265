"""The command `rehearse`, which shows everything that a configuration would send for a few replays."""
