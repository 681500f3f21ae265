"""The command `info`, which shows the players, stage, length and result of replays."""
