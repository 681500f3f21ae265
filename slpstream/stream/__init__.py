"""A game's log and its subscribers: rings, positions, fan-out, backpressure. It never opens a file."""

from slpstream.stream.channel import Channel, Hub, StationState, WantedChannels
from slpstream.stream.game import Game, GameLog, Replay
from slpstream.stream.log_consumer import Batch, ConsumerOffset, ConsumerOffsets, LogConsumer
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscriber import Encoding, Subscriber
from slpstream.stream.subscription import Subscription, parse_subscription

__all__ = [
    "Batch",
    "Channel",
    "ConsumerOffset",
    "ConsumerOffsets",
    "Encoding",
    "Game",
    "GameLog",
    "Hub",
    "LogConsumer",
    "Outbox",
    "Replay",
    "StationState",
    "Subscriber",
    "Subscription",
    "WantedChannels",
    "parse_subscription",
]
