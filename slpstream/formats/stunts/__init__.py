"""Stunts (4D Sports Driving) replays, `.rpl`: header, track, one input byte a tic. Sans-IO.

Sources: the Stunts Wiki's pages "Replay file format" and "Track file", checked against five replays of real races.
"""
