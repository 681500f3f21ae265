"""Arbitrary answers of the Playback Dolphin raise the error for it, and the client continues to work."""

from __future__ import annotations

import json
import random

from slpstream.parts.playback_dolphin.commands import mirrored
from tests.foreign_answers import damaged

ROUNDS = 150


def test_arbitrary_file_of_playback_dolphin() -> None:
    chance = random.Random("Playback Dolphin")
    content = {"mode": "mirror", "replay": "/a.slp", "gameStation": "x", "queue": [{"path": "/b.slp"}]}
    for _ in range(ROUNDS):
        mirrored(damaged(content, chance))
    assert mirrored(json.dumps(content).encode()) is not None
