"""F-Zero GX replays: a `.gci`, which is a file of a GameCube memory card, written in one go when the race is over.

The container is byte aligned; the body behind it is a stream of bits, with the racers, checkpoints and runs of inputs.
Source: the community's pages on the `.gci` of F-Zero GX and the project fgx-re, checked against a real body. Sans-IO.
"""

from slpstream.formats.gci.container import sniff

__all__ = ["sniff"]
