"""Stunts (4D Sports Driving) replays, `.rpl`: header, track, one input byte a tic. Sans-IO; reader and writer.

Sources: the Stunts Wiki's pages "Replay file format" and "Track file". The game itself was taken to check them: five
replays of races, and the structure in its memory.
"""
