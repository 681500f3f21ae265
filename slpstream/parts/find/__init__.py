"""The command `find`, which finds games by players, characters, stage, length and date."""
