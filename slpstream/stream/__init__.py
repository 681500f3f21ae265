"""The log of a game and its subscribers: rings, positions, fan-out and backpressure.

This package doesn't know any format, and it never opens a file.
"""

from slpstream.stream.channel import Channel, Hub, StationState, WantedChannels
from slpstream.stream.game import Game, GameLog, LogReader, Role
from slpstream.stream.games import StationGames, StationReader
from slpstream.stream.log_consumer import ConsumedBatch, ConsumerOffset, ConsumerOffsets, LogConsumer
from slpstream.stream.on_air import ChosenBy, OnAir
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscriber import Subscriber
from slpstream.stream.subscription import Subscription, parse_subscription
from slpstream.stream.view import Encoding

__all__ = [
    "Channel",
    "ChosenBy",
    "ConsumedBatch",
    "ConsumerOffset",
    "ConsumerOffsets",
    "Encoding",
    "Game",
    "GameLog",
    "Hub",
    "LogConsumer",
    "LogReader",
    "OnAir",
    "Outbox",
    "Role",
    "StationGames",
    "StationReader",
    "StationState",
    "Subscriber",
    "Subscription",
    "WantedChannels",
    "parse_subscription",
]
