# Made by deploy/wheel/stubs.py.

from slpstream.api import Replay as Replay
from slpstream.api import follow as follow
from slpstream.api import messages as messages
from slpstream.api import open_replay as open_replay
from slpstream.formats.slippi.columns import Character as Character
from slpstream.formats.slippi.columns import EventColumns as EventColumns
from slpstream.formats.slippi.columns import Frames as Frames
from slpstream.formats.slippi.columns import RepeatedEventColumns as RepeatedEventColumns
from slpstream.formats.slippi.stats.schema import Stats as Stats
from slpstream.model.errors import FormatError as FormatError
from slpstream.model.errors import SlpstreamError as SlpstreamError
from slpstream.model.errors import SourceError as SourceError
from slpstream.model.errors import SubscriberError as SubscriberError
from slpstream.model.errors import Unsupported as Unsupported
from slpstream.model.events import Diagnostic as Diagnostic
from slpstream.model.events import Event as Event
from slpstream.model.events import Frame as Frame
from slpstream.model.events import FrameFinalized as FrameFinalized
from slpstream.model.events import GameEnd as GameEnd
from slpstream.model.events import GameEvent as GameEvent
from slpstream.model.events import GameStart as GameStart
from slpstream.model.events import Metadata as Metadata
from slpstream.model.events import StatsUpdate as StatsUpdate
from slpstream.model.messages import FramesMode as FramesMode
from slpstream.model.messages import LogMessage as LogMessage
from slpstream.system.live_iterator import LiveIterator as LiveIterator
from slpstream.web.client import Client as Client
from slpstream.web.client import Message as Message
from slpstream.web.client import connect as connect

__all__ = [
    "Character",
    "Client",
    "Diagnostic",
    "Event",
    "EventColumns",
    "FormatError",
    "Frame",
    "FrameFinalized",
    "Frames",
    "FramesMode",
    "GameEnd",
    "GameEvent",
    "GameStart",
    "LiveIterator",
    "LogMessage",
    "Message",
    "Metadata",
    "RepeatedEventColumns",
    "Replay",
    "SlpstreamError",
    "SourceError",
    "Stats",
    "StatsUpdate",
    "SubscriberError",
    "Unsupported",
    "__version__",
    "connect",
    "follow",
    "messages",
    "open_replay",
]
__version__: str
