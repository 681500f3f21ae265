"""Live ingest of game replays, Slippi first.

Use `open_replay` to open a replay on disk, `messages` to iterate over its log messages, and `follow` to iterate over
those of a replay that is still being written. The other names are the types that these functions return and raise.

Attributes are only imported when you first use them (PEP 562), so `import slpstream` on its own loads neither trio nor
numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from slpstream.model.version import __version__

if TYPE_CHECKING:
    from slpstream.api import Replay, follow, messages, open_replay
    from slpstream.formats.slippi.columns import Frames
    from slpstream.formats.slippi.stats.schema import Stats
    from slpstream.model.errors import FormatError, SlpstreamError, SourceError, Unsupported
    from slpstream.model.events import (
        Diagnostic,
        Event,
        Frame,
        FrameFinalized,
        GameEnd,
        GameEvent,
        GameStart,
        Metadata,
        StatsUpdate,
    )
    from slpstream.model.messages import FramesMode, LogMessage

__all__ = [
    "Diagnostic",
    "Event",
    "FormatError",
    "Frame",
    "FrameFinalized",
    "Frames",
    "FramesMode",
    "GameEnd",
    "GameEvent",
    "GameStart",
    "LogMessage",
    "Metadata",
    "Replay",
    "SlpstreamError",
    "SourceError",
    "Stats",
    "StatsUpdate",
    "Unsupported",
    "__version__",
    "follow",
    "messages",
    "open_replay",
]

_MODULE_OF = {
    "Diagnostic": "model.events",
    "Event": "model.events",
    "FormatError": "model.errors",
    "Frame": "model.events",
    "FrameFinalized": "model.events",
    "Frames": "formats.slippi.columns",
    "FramesMode": "model.messages",
    "GameEnd": "model.events",
    "GameEvent": "model.events",
    "GameStart": "model.events",
    "LogMessage": "model.messages",
    "Metadata": "model.events",
    "Replay": "api",
    "SlpstreamError": "model.errors",
    "SourceError": "model.errors",
    "Stats": "formats.slippi.stats.schema",
    "StatsUpdate": "model.events",
    "Unsupported": "model.errors",
    "follow": "api",
    "messages": "api",
    "open_replay": "api",
}

if not TYPE_CHECKING:  # a type checker would take any misspelt name for `Any`

    def __getattr__(name: str) -> Any:
        """Import a public name from its module."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
