"""Outputs that the daemon writes by itself: webhooks, chats, JSON lines, files for OBS, scoreboard tools, Redis.

Each output reads the log with its own `LogConsumer`, at its own pace. A receiver that is down or a full disk delays no
other output. Once it works again, the output reads the missed messages from the log.
"""

from pkgutil import resolve_name
from typing import Any

from slpstream.outputs.delivery import Deliverer, Receiver
from slpstream.outputs.jsonl import JsonLinesSink
from slpstream.outputs.obs import ObsFiles
from slpstream.outputs.webhook import WebhookSink

__all__ = [
    "Deliverer",
    "JsonLinesSink",
    "ObsFiles",
    "Receiver",
    "WebhookSink",
]


def __getattr__(name: str) -> Any:
    """`bracket_set`, which has moved to `slpstream.tournament.bracket.startgg.variables`."""
    if name == "bracket_set":
        # Not an import statement: no room depends on another one on its floor.
        return resolve_name("slpstream.tournament.bracket.startgg.variables:bracket_set")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
