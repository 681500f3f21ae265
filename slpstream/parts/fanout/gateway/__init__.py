"""The daemon's websocket and HTTP interface, served from the broker. A gateway stores nothing, so a subscriber can move
from one gateway to another with its cursor."""
