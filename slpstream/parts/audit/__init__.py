"""The setup audit: finds the setups of a tournament that differ from the others, and their differences.

`played_games` are the games of a setup, `compare` compares them, and `findings` are the results. `clock` reads the time
of a game. `setup_audit` compares the stations of a daemon.
"""
