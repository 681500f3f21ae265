"""Garbage collections of a running daemon."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from slpstream.config import Config, Server, Store
from slpstream.daemon.daemon import Daemon


class Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.trio
async def test_new_garbage_is_collected_even_if_few_objects_are_made(tmp_path: Path, mock_clock: MockClock) -> None:
    """Python does not begin a collection on its own as long as about as many objects are freed as made."""
    daemon = Daemon(Config(server=Server(port=0), store=Store(folder=str(tmp_path))), [], strict=True)
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
        await wait_all_tasks_blocked()
        gc.disable()
        try:
            node = weakref.ref(Node())
            assert node() is not None
            mock_clock.jump(2)
            await wait_all_tasks_blocked()
            assert node() is None
        finally:
            gc.enable()
        daemon.stop()
