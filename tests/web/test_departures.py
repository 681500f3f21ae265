"""The server promptly releases the connections of clients that leave before they get a response.

Determinism: trio's autojump clock, see `served.py`. A delayed response takes an hour.
"""

from __future__ import annotations

import socket

import pytest
import trio
from trio.testing import MockClock

from slpstream.web.departures import LEFT_SECONDS
from tests.stream.fakes import game_id
from tests.web.served import Caller, Served, served

pytestmark = pytest.mark.trio

HOUR_SECONDS = 3600.0
HOST = b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
GAME = b"GET /v1/games/" + game_id(1).encode() + HOST
HEALTH = b"GET /healthz" + HOST
RESET = b"\1\0\0\0\0\0\0\0"
"""Linger for 0 seconds: a close resets the connection."""


async def released(running: Served) -> None:
    """Wait until the server has noticed that a client left."""
    await trio.sleep(LEFT_SECONDS + 0.5)
    assert running.server.connections == 0


async def waiting(running: Served, request: bytes) -> Caller:
    """A client that waits for its response."""
    caller = await running.call()
    await caller.send(request)
    await trio.sleep(5)
    assert running.server.connections == 1
    return caller


@pytest.mark.parametrize("with_reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize(
    "request_",
    [
        GAME,
        GAME.replace(b"GET", b"HEAD"),
        GAME + HEALTH,
        b"GET /v1/events?station=main&cursor=" + game_id(7).encode() + b"/l1.0" + HOST,
    ],
    ids=["GET", "HEAD", "pipelined", "events"],
)
async def test_client_leaves_before_its_response(request_: bytes, with_reset: bool, patient_clock: MockClock) -> None:
    async with served() as running:
        running.games.wait_seconds = running.stations[0].search_seconds = HOUR_SECONDS
        caller = await waiting(running, request_)
        if with_reset:
            caller.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        await caller.stream.aclose()
        await released(running)
        assert running.requests == []


async def test_client_that_ends_its_side_gets_its_response(patient_clock: MockClock) -> None:
    async with served() as running:
        running.games.wait_seconds = LEFT_SECONDS / 2
        async with await running.call() as caller:
            await caller.send(GAME)
            await caller.stream.send_eof()
            assert (await caller.answer()).status == 404
            assert await caller.ended()
        await released(running)
        assert running.requests == [404]


@pytest.mark.parametrize("pieces", [1, 3])
async def test_requests_that_arrive_during_a_response_are_answered(pieces: int, patient_clock: MockClock) -> None:
    async with served() as running:
        running.games.wait_seconds = 5
        async with await running.call() as caller:
            await caller.send(GAME)
            await trio.sleep(1)
            size = -(-len(HEALTH) // pieces)
            for first in range(0, len(HEALTH), size):
                await caller.send(HEALTH[first : first + size])
                await trio.sleep(1)
            assert [(await caller.answer()).status for _ in range(2)] == [404, 200]


async def test_change_is_finished_after_its_client_has_left(patient_clock: MockClock) -> None:
    async with served() as running:
        running.fake.correction_seconds = HOUR_SECONDS
        body = b'{"bestOf":5}'
        head = b"PATCH /v1/stations/main/set" + HOST[:-2] + b"content-type: application/json\r\n"
        caller = await waiting(running, head + b"content-length: %d\r\n\r\n%b" % (len(body), body))
        await caller.stream.aclose()
        await trio.sleep(HOUR_SECONDS)
        await released(running)
        score = await running.fake.set_of("main")
        assert score is not None
        assert score.best_of == 5
        assert running.requests == [200]
