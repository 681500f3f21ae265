"""F-Zero GX replays, `.gci`: GameCube memory card files, written in one go when the race is over.

The container is byte aligned. The body after it is a bit stream of racers, checkpoints and runs of inputs. Source: the
community's pages on the `.gci` files of F-Zero GX and the project fgx-re, checked against a real body. Sans-IO.
"""
