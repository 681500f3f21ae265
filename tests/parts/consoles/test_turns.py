"""Sources share the event loop: slices, turns and pauses, and sessions that repeat themselves.

Determinism: trio's autojump clock; processing times are passed in, except where a whole source runs.
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
import trio
import trio.testing

from slpstream.model.errors import FormatError
from slpstream.parts.consoles.console import ConsoleSource
from slpstream.parts.consoles.event_framer import GameFramer
from slpstream.parts.consoles.reconnect import Reconnector
from slpstream.parts.consoles.recording import Recording, RecordingFile
from slpstream.parts.consoles.session import ConsoleSession, Idle
from slpstream.parts.consoles.turns import SLICE_BYTES, Pace, Turns
from tests.formats.slippi.built import Built
from tests.parts.consoles.listeners import Notices
from tests.parts.consoles.recordings import recorder_of
from tests.parts.consoles.wii import KEEP_ALIVE, handshake, raw_of, replay

GAME = raw_of(Built().frames(-123, 600).end().closed())


@pytest.mark.trio
async def test_live_game_is_never_delayed(autojump_clock: object) -> None:
    pace = Pace(Turns())
    for _ in range(600):
        await trio.sleep(1 / 60)
        before = trio.current_time()
        await pace.spend(0.0001, 700)
        assert trio.current_time() == before


@pytest.mark.trio
async def test_flooding_sources_take_turns(autojump_clock: object) -> None:
    """They use a limited part of the loop, one slice at a time, and all have about the same share."""
    turns = Turns()
    slices = [0] * 20
    slice_seconds = 0.002
    at: list[float] = []

    async def flood(number: int) -> None:
        pace = Pace(turns)
        while True:
            await pace.spend(slice_seconds, 0)
            slices[number] += 1
            at.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(flood, number)
        await trio.sleep(1)
        burst = sum(slices)
        slices[:] = [0] * 20
        at.clear()
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    assert burst * slice_seconds < 20 * 0.1
    assert sum(slices) * slice_seconds < 10 * 0.75
    assert max(slices) <= 1.2 * min(slices)
    assert max(at.count(moment) for moment in set(at)) <= 2, "slices of different sources in one pass of the loop"


@pytest.mark.trio
async def test_large_message_is_processed_in_slices(tmp_path: Path, autojump_clock: object) -> None:
    """Other tasks run in between, and the game is recorded completely."""
    notices = Notices()
    recorder = recorder_of(tmp_path, notices, max_unwritten_bytes=1 << 22)
    reconnector = Reconnector(recorder, notices, random.Random(1))
    session = ConsoleSession()
    session.connect()
    session.receive(handshake("a", 7, 0))
    received: list[int] = []

    class Watched(trio.abc.Instrument):
        def task_scheduled(self, task: trio.lowlevel.Task) -> None:
            received.append(recorder.unwritten_bytes)

    watched = Watched()
    trio.lowlevel.add_instrument(watched)
    await reconnector.receive(session, replay(0, len(GAME), GAME, length="l"))
    trio.lowlevel.remove_instrument(watched)
    received.append(recorder.unwritten_bytes)
    assert max(after - before for before, after in pairwise(received)) <= SLICE_BYTES + 1000
    assert len(received) > len(GAME) // SLICE_BYTES


@pytest.mark.trio
@pytest.mark.parametrize(
    ("first", "repeated"),
    [(handshake("a", 7, 0), KEEP_ALIVE), (b"", b"HELO\0"), (GAME[:3000], b"HELO\0"), (b"", handshake("a", 7, 0))],
    ids=["keep-alives", "HELO", "HELO in a game", "handshakes"],
)
async def test_repetitive_source_is_disconnected_with_backoff(
    tmp_path: Path, autojump_clock: object, first: bytes, repeated: bytes
) -> None:
    notices = Notices()
    attempts = 0
    async with trio.open_nursery() as nursery:

        async def flood(stream: trio.abc.Stream) -> None:
            with trio.move_on_after(60):
                try:
                    await stream.send_all(first)
                    while True:
                        await stream.send_all(repeated * (65536 // len(repeated)))
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return

        async def connect() -> trio.abc.Stream:
            nonlocal attempts
            await trio.lowlevel.checkpoint()
            attempts += 1
            ours, theirs = trio.testing.memory_stream_pair()
            nursery.start_soon(flood, theirs)
            return ours

        recorder = recorder_of(tmp_path, notices, max_unwritten_bytes=1 << 22)
        source = ConsoleSource(connect, recorder, notices, rng=random.Random(1))
        nursery.start_soon(recorder.run)
        nursery.start_soon(source.run)
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert 5 <= attempts <= 15
    assert len([state for state, _ in notices.connection if state != "connected"]) == attempts


def test_few_keep_alives_together_are_valid() -> None:
    """After the daemon was stopped for a moment, for example."""
    session = ConsoleSession()
    session.connect()
    session.receive(handshake("a", 7, 0))
    assert session.receive(KEEP_ALIVE * 100) == [Idle()] * 100
    with pytest.raises(FormatError, match="without a pause"):
        session.receive(KEEP_ALIVE * 101)
    with_events = session.receive(KEEP_ALIVE * 101 + replay(0, 1, b"x"))
    assert len(with_events) == 102, "events of the console are never dropped for its keep-alives"


@pytest.mark.parametrize("candidate", [b"\x35", b"\x35\x34", b"\x35\x04\x36\xff\xff\x36\x03", b"\x3a"])
@pytest.mark.parametrize("in_game", [False, True])
def test_search_for_a_boundary_is_bounded(candidate: bytes, in_game: bool) -> None:
    """Bytes full of candidates for a boundary are given up, and the next game is found after them."""
    framer = GameFramer()
    if in_game:
        framer.feed(GAME[:20_000])
        framer.gap()
    for _ in range(160):
        framer.feed((candidate * SLICE_BYTES)[:SLICE_BYTES])
        assert framer.buffered_bytes <= 260 * 1024 + SLICE_BYTES
    framer.gap()
    framer.feed(b"\0" * 300_000)
    framer.feed(GAME)
    assert framer.in_game is False
    assert framer.frame == 600


def test_gaps_beyond_the_limit_take_no_memory(tmp_path: Path) -> None:
    recording = Recording(RecordingFile(tmp_path / "a.slp"), GAME[:800], started_at="2026-01-01T00:00:00Z")
    for _ in range(1000):
        recording.unwritten.append(b"x")
        recording.add_gap(3)
    assert len(recording.gaps) == 201
    assert recording.extend_gap(5), "the last one is known"
