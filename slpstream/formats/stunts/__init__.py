"""Stunts (4D Sports Driving) replays, `.rpl`. They have a header, a track, and one input byte for each tic. Nothing in
here does I/O.

We know the format from the Stunts Wiki's pages "Replay file format" and "Track file", and have checked this against
five replays of real races.
"""
