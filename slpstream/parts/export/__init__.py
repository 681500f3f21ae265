"""The command `export`: tables of replays for analysis."""
