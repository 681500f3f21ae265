"""Following files while they are written: which are there, how they grow, what becomes of them.

The room knows nothing of what the bytes mean. `FolderTail` is the whole of it; `Watcher` makes it quick.
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
)
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.identity import FileIdentity
from slpstream.sources.tail.notifications import Notifications
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
    "TailEvent",
    "TailedFile",
    "Watcher",
    "tail_of_file",
]
