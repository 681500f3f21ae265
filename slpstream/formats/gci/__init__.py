"""F-Zero GX replays, `.gci`. These are GameCube memory card files, which the game writes in one go when the race is
over.

The container is byte aligned. The body comes after it, and is a bit stream of racers, checkpoints and runs of inputs.
We know this from the community's pages on the `.gci` files of F-Zero GX and from the project fgx-re, and have checked
it against a real body. Nothing in here does I/O.
"""
