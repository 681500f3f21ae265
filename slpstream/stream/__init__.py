"""A game's log and its subscribers: rings, positions, fan-out, backpressure. It never opens a file."""

from slpstream.stream.channel import Channel, Hub, StationState, WantedChannels
from slpstream.stream.game import Game, GameLog, Replay
from slpstream.stream.log_consumer import Batch, Bookmark, Bookmarks, Tap
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscriber import Subscriber, Wire
from slpstream.stream.subscription import Subscription, parse_subscription

__all__ = [
    "Batch",
    "Bookmark",
    "Bookmarks",
    "Channel",
    "Game",
    "GameLog",
    "Hub",
    "Outbox",
    "Replay",
    "StationState",
    "Subscriber",
    "Subscription",
    "Tap",
    "WantedChannels",
    "Wire",
    "parse_subscription",
]
