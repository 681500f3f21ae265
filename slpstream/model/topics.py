"""The topics of log messages. Subscribers and commands use them to select the messages that they want.

This module doesn't import anything from the package, so that commands can show their help pages quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Topic = Literal["game", "frame", "event", "stats", "diagnostic"]
TOPICS: tuple[Topic, ...] = ("game", "frame", "event", "stats", "diagnostic")

TOPIC_OF_TYPE: Mapping[str, Topic] = {
    "game_start": "game",
    "game_end": "game",
    "metadata": "game",
    "frame": "frame",
    "finalized": "frame",
    "event": "event",
    "stats": "stats",
    "diagnostic": "diagnostic",
}
