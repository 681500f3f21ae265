"""The setup audit finds out which setups of a tournament are different from the others, and in which way.

If you want to understand it, begin with `played_games`, which are the games of a setup. `compare` compares them, and
the results are in `findings`. `clock` reads the time of a game. `setup_audit` does all of this for the stations of a
daemon.
"""
