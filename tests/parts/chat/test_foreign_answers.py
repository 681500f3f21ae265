"""Arbitrary answers of a chat raise the error for it, and the client continues to work."""

from __future__ import annotations

import random
from typing import Any

import pytest
from trio.testing import MockClock

from slpstream.parts.chat.sink import discord_post
from slpstream.system.http_client import PostResponse
from tests.foreign_answers import damaged

ROUNDS = 150


@pytest.mark.trio
async def test_arbitrary_answers_of_chats(clock: MockClock) -> None:
    chance = random.Random("chat")
    for _ in range(ROUNDS):
        body = damaged({"code": 10015, "retry_after": 0.5, "message": "x"}, chance)

        async def send(*_: Any, body: bytes = body) -> PostResponse:
            return PostResponse(chance.choice([200, 400, 429]), "1", body)

        found = await discord_post(send)(None, [], b"", None, 1.0)  # type: ignore[arg-type]
        assert found.status in (200, 400, 410, 429)
