"""The event loop and worker threads read replays at the same moment, and share layouts learned from earlier ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier, Thread, current_thread
from typing import Any

import pytest

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi import frame_decoder
from slpstream.formats.slippi.commands import ITEM_UPDATE, WHISPY
from slpstream.formats.slippi.frame_decoder import PackedFrame
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Event, Frame
from tests.formats.slippi.built import Built

THREADS = 4


@pytest.fixture
def switching_often() -> Iterator[None]:
    """Let Python switch threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], None]) -> None:
    """Call `work` in several threads at the same moment, with the number of the thread. Raises their exceptions."""
    barrier = Barrier(THREADS)

    def run(number: int) -> None:
        barrier.wait()
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


@pytest.mark.slow
@pytest.mark.usefixtures("switching_often")
def test_layouts_of_events_are_shared() -> None:
    """Damaged files declare sizes of all kinds."""

    def work(_: int) -> None:
        for size in range(1000, 9000):
            assert WHISPY.layout(size).payload_size_bytes == size

    in_threads(work)


@pytest.mark.slow
@pytest.mark.usefixtures("switching_often")
def test_templates_of_messages_are_shared() -> None:
    """Subscribers ask for any choice of fields."""
    reader = SlippiReader()
    events = reader.feed(Built().frames(-123, -100).end().closed())
    frame = next(e.content for e in events if isinstance(e, Frame) and isinstance(e.content, PackedFrame))
    expected = frame.form("json", ("start.unknown",))

    def work(number: int) -> None:
        for other in range(600):
            message = frame.form("json", (f"start.{number}.{other}",))
            assert message in (None, expected)  # most choices have no template

    in_threads(work)


class KernelInKeys:
    """The kernel, which is part of the keys of the shared decoders, with something to do whenever a key is hashed."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self.on_hash: Callable[[], object] = int

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __hash__(self) -> int:
        self.on_hash()
        return 0


@pytest.mark.slow
@pytest.mark.skipif(kernel is None, reason="the kernel is not built")
def test_layouts_of_frames_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread reads many replays, so the decoder that this thread is about to use is forgotten."""
    in_keys = KernelInKeys(kernel)
    monkeypatch.setattr(frame_decoder, "kernel", in_keys)
    sizes = Built().writer.payloads.sizes

    def read(more: int) -> list[Event]:
        game = Built(sizes=sizes | {ITEM_UPDATE.command: 44 + more}).frames(-123, -121, items=1)
        return [event for event in SlippiReader().feed(game.so_far()) if isinstance(event, Frame)]

    others = Thread(target=lambda: [read(more) for more in range(1, 140)])
    hashed = count(1)

    def on_hash() -> None:
        if current_thread() is not others and next(hashed) == 2:
            others.start()
            others.join(timeout=2)

    first = read(0)
    in_keys.on_hash = on_hash
    assert read(0) == first
    others.join()
