"""Control OBS over obs-websocket 5. You can write rules that change scenes, sources and texts, save replays and set
chapters.

The protocol itself is in `session`. `rules` choose the actions, `desk` compares how OBS should look with how it
actually looks, `link` takes care of the connection, and `control` puts all of this together for a daemon.
"""
