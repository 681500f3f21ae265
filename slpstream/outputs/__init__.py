"""Outputs that send messages without being asked: webhooks, JSON lines, files for OBS, Redis.

Each output reads the log with its own `LogConsumer`, at its own pace. A receiver that is down or a disk that is full
delays no other output, and reads what it missed from the log when it is back.
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
