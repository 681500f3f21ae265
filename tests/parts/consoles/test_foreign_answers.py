"""Arbitrary answers of Dolphin and its clients raise the error for it, and the client continues to work."""

from __future__ import annotations

import json
import random
from contextlib import suppress

from slpstream.model.errors import FormatError
from slpstream.parts.consoles.spectators.dolphin import DolphinSession
from slpstream.parts.consoles.spectators.messages import read_request
from tests.foreign_answers import damaged

ROUNDS = 150


def test_arbitrary_packets_of_dolphin_and_its_clients() -> None:
    chance = random.Random("Dolphin")
    valid = [
        {"type": "connect_reply", "cursor": 0, "nick": "x", "version": "1"},
        {"type": "start_game", "cursor": 0, "next_cursor": 1},
        {"type": "game_event", "cursor": 1, "next_cursor": 2, "payload": "NQ=="},
        {"type": "end_game", "cursor": 2, "next_cursor": 3, "dolphin_closed": False},
    ]
    for _ in range(ROUNDS):
        session = DolphinSession()
        session.connect()
        for message in valid:
            with suppress(FormatError):
                session.receive(damaged(message, chance) if chance.random() < 0.5 else json.dumps(message).encode())
        read_request(damaged({"type": "connect_request", "cursor": 5}, chance))
