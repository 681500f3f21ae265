"""Follow the files of a folder while they are being written.

`FolderTail` finds the files below a folder, reads them as they grow, and yields `TailEvent`s. It needs nothing but
polling; notifications from a `Watcher` let it react within milliseconds. Nothing here knows what the bytes mean.
"""

from slpstream.sources.tail.events import (
    CaughtUp,
    Grew,
    Lost,
    Opened,
    Refused,
    Rewritten,
    Scanned,
    Settled,
    TailedFile,
    TailEvent,
    Touched,
)
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.identity import FileIdentity
from slpstream.sources.tail.notifications import Notifications, Strategy
from slpstream.sources.tail.one_file import tail_of_file
from slpstream.sources.tail.watcher import Watcher

__all__ = [
    "CaughtUp",
    "FileIdentity",
    "FolderTail",
    "Grew",
    "Lost",
    "Notifications",
    "Opened",
    "Refused",
    "Rewritten",
    "Scanned",
    "Settled",
    "Strategy",
    "TailEvent",
    "TailedFile",
    "Touched",
    "Watcher",
    "tail_of_file",
]
