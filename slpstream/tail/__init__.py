"""Following files while they are written: which are there, how they grow, what becomes of them.

The room knows nothing of what the bytes mean. `FolderTail` is the whole of it; `Watcher` makes it quick.
"""

from slpstream.tail.events import (
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
from slpstream.tail.folder import FolderTail
from slpstream.tail.hints import Hints
from slpstream.tail.identity import FileIdentity
from slpstream.tail.one_file import tail_of_file
from slpstream.tail.watcher import Watcher

__all__ = [
    "CaughtUp",
    "FileIdentity",
    "FolderTail",
    "Grew",
    "Hints",
    "Lost",
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
