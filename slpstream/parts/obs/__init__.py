"""OBS over obs-websocket 5: rules change scenes, sources and texts, save replays and set chapters.

`session` is the protocol, `rules` choose the actions, `desk` compares the wanted state of OBS with its actual state,
`link` is the connection, and `control` puts them together for a daemon.
"""
