"""The topics of log messages, by which subscribers and commands select them.

This module imports nothing else, so that help pages of commands load quickly.
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
