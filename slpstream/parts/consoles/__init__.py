"""Records consoles on the network, and relays stations to clients.

`wire` and `event_framer` are sans-IO. The first turns bytes into messages, and the second turns the bytes of events
into games. `console` holds a connection, and `recorder` writes the bytes that arrive to files. A station tails these
files like any others. `feed` and `server` work in the other direction: they send the bytes of a station's current game
to every client. `discovery` listens for consoles that announce themselves, and `stations` puts all of this together.
"""
