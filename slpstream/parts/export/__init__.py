"""The command `export`, which writes tables of replays for analysis."""
