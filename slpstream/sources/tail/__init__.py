"""Follow the files of a folder while they are being written.

`FolderTail` finds the files below a folder, reads them as they grow, and yields `TailEvent`s. Polling alone is
sufficient; notifications from a `Watcher` let it react within milliseconds. The package does not interpret the bytes.
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
]
