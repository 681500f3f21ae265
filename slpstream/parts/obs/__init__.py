"""OBS over obs-websocket 5: rules change scenes, sources and texts, save replays and set chapters.

`session` is the protocol, `rules` say what to do when, `desk` compares what is wished with what OBS has, `link` is the
connection, and `control` puts them together for a daemon.
"""
