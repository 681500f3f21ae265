"""The command `find`: games by players, characters, stage, length and date."""
