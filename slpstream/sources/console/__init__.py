"""Consoles on the network as sources, and the serving of one source to many.

`wire` and `cutter` are sans-IO: bytes to messages, and messages' bytes to games. `console` and `dolphin` hold a
connection, `recorder` makes files of what they bring, and a station tails those like any other. `feed` and `server`
go the other way: the bytes of a station's current game, to whoever connects. `discovery` hears consoles that call.
"""
