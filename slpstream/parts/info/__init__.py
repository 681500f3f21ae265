"""The command `info`: players, stage, length and result of replays."""
