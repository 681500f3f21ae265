"""Record consoles on the network, and relay stations to clients.

`wire` and `event_framer` are sans-IO: bytes to messages, and event bytes to games. `console` holds a connection, and
`recorder` writes received bytes to files, which a station tails like any others. `feed` and `server` work in the other
direction: they send the bytes of a station's current game to every client. `discovery` listens for consoles that
announce themselves. `stations` puts them together.
"""
