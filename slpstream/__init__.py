"""slpstream: live ingest of game replays, Slippi first.

The public API: `open_replay` for a replay on disk, `messages` for its log messages, `follow` for one that is being
written.
"""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import slpstream.model.messages  # noqa: F401 -- first, so that loading the module later does not hide the function of the same name
from slpstream.model.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from slpstream.api import Replay
    from slpstream.model.messages import LogMessage

__all__ = ["__version__", "follow", "messages", "open_replay"]

# The functions import their module when they are called: a script that only decodes needs no watchdog, and
# `slpstream --help` is fast.


def open_replay(path: str | PathLike[str]) -> Replay:
    """A replay on disk; see `slpstream.api.open_replay`."""
    from slpstream import api

    return api.open_replay(path)


def messages(path: str | PathLike[str], **options: Any) -> Iterator[LogMessage]:
    """The log messages of a replay; see `slpstream.api.messages`."""
    from slpstream import api

    return api.messages(path, **options)


def follow(path: str | PathLike[str], **options: Any) -> AsyncGenerator[LogMessage, None]:
    """The log messages of a replay that is being written; see `slpstream.api.follow`."""
    from slpstream import api

    return api.follow(path, **options)
