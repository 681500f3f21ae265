"""Outputs that the daemon writes by itself: webhooks, chats, JSON lines, files for OBS, scoreboard tools, Redis.

Each output reads the log with its own `LogConsumer`, at its own pace. A receiver that is down or a full disk delays no
other output. Once it works again, the output reads the missed messages from the log.
"""

from slpstream.outputs.delivery import Deliverer, Receiver
from slpstream.outputs.jsonl import JsonLinesSink
from slpstream.outputs.obs import ObsFiles
from slpstream.outputs.startgg import bracket_set
from slpstream.outputs.webhook import WebhookSink

__all__ = [
    "Deliverer",
    "JsonLinesSink",
    "ObsFiles",
    "Receiver",
    "WebhookSink",
    "bracket_set",
]
