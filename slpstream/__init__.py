"""Live ingest of game replays, Slippi first.

Use `open_replay` to open a replay on disk, `messages` to iterate over its log messages, `follow` to iterate over those
of a replay that is still being written, and `connect` to subscribe to a daemon. The other names are the types that
these functions return and raise.

Attributes are only imported when you first use them (PEP 562), so `import slpstream` on its own loads neither trio nor
numpy. Type checkers read the same names in `__init__.pyi`, which is made from the list in this module.
"""

from __future__ import annotations

import importlib
from typing import Any

from slpstream.model.version import __version__

PUBLIC = {
    "api": ("Replay", "follow", "messages", "open_replay"),
    "formats.slippi.columns": ("Character", "EventColumns", "Frames", "RepeatedEventColumns"),
    "formats.slippi.stats.schema": ("Stats",),
    "model.errors": ("FormatError", "SlpstreamError", "SourceError", "SubscriberError", "Unsupported"),
    "model.events": (
        *("Diagnostic", "Event", "Frame", "FrameFinalized", "GameEnd", "GameEvent", "GameStart", "Metadata"),
        "StatsUpdate",
    ),
    "model.messages": ("FramesMode", "LogMessage"),
    "system.live_iterator": ("LiveIterator",),
    "web.client": ("Client", "Message", "connect"),
}
"""The public names by module."""
_MODULE_OF = {name: module for module, names in PUBLIC.items() for name in names}
__all__ = ["__version__", *_MODULE_OF]  # noqa: PLE0604 -- all are texts


def __getattr__(name: str) -> Any:
    """Import a public name from its module."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
