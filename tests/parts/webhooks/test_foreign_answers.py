"""Arbitrary answers of a receiver raise the error for it, and the client continues to work."""

from __future__ import annotations

import random

import pytest
import trio
from trio.testing import MockClock

from slpstream.parts.deliveries.store import DeliveryStore
from slpstream.system.http_client import PostResponse
from tests.parts.receivers import OK, FakeReceiver
from tests.parts.webhooks.hooks import Hook
from tests.stream.fakes import FakeLog, FakeStation


@pytest.mark.trio
async def test_arbitrary_retry_after(store: DeliveryStore, clock: MockClock) -> None:
    chance = random.Random("pauses")
    odd = [
        "x",
        "-1",
        "1" * 5000,
        "²",
        "Wed, 99 Foo 2026 99:99:99 GMT",
        "Wed, 21 Oct 99999 07:28:00 GMT",
        ",,, ",
        "\xe9",
    ]
    odd += ["".join(chance.choices("WedOct ,:0123456789GMT+-", k=20)) for _ in range(100)]
    odd += ["Wed, 21 Oct 2026 07:28:00 +99999999999", "1 Jan 0001 00:00:00 GMT", "21 Oct 2026"]
    receiver = FakeReceiver(lambda _: PostResponse(503, odd.pop()) if odd else OK)
    station = FakeStation()
    async with Hook(store, receiver).running(station):
        station.play(FakeLog(1))
        while len(receiver.accepted) < 2:
            await trio.sleep(600)
