"""Follow the files of a folder while they are being written.

If you iterate over a `FolderTail`, it finds the files below a folder, reads them as they grow, and yields `TailEvent`s.
This works with polling alone, but if you use a `Watcher`, you also get notifications, and then it reacts within
milliseconds. The package doesn't care about the meaning of the bytes.
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
