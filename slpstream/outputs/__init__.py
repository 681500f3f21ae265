"""Where messages go that nobody asks for over the network: webhooks, JSON lines, files for OBS.

Every sink reads with a tap (`stream.tap`) of its own, at its own pace: a receiver that is down or a disk that is full
holds up nobody else, and what it missed is read from the log when it is back.
"""

from slpstream.outputs.delivery import Deliverer, Deliveries, Delivery, Receiver, Waiting
from slpstream.outputs.jsonl import JsonLinesSink
from slpstream.outputs.obs import ObsFiles, Titles
from slpstream.outputs.startgg import bracket_set
from slpstream.outputs.webhook import WebhookSink

__all__ = [
    "Deliverer",
    "Deliveries",
    "Delivery",
    "JsonLinesSink",
    "ObsFiles",
    "Receiver",
    "Titles",
    "Waiting",
    "WebhookSink",
    "bracket_set",
]
