"""Serve the daemon's websocket and HTTP interface from the broker.

Since a gateway doesn't store anything, a subscriber can take its cursor from one gateway and continue at another.
"""
