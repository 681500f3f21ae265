"""The event loop and worker threads read replays at the same moment, and share what they know about their events."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from slpstream.formats.slippi.commands import WHISPY
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.model.events import Frame
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
