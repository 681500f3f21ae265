"""The processes that share the work of a command: Ctrl-C is not for them."""

from __future__ import annotations

import os
import signal

import pytest

from slpstream.cli.process_pool import interrupts_blocked, process_pool


def interrupts(_: int) -> tuple[bool, bool]:
    """In a worker: SIGINT is blocked, and ignored."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return signal.SIGINT in blocked, signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_process_is_never_interrupted() -> None:
    with process_pool(2) as pool:
        with interrupts_blocked():
            found = pool.map(interrupts, range(4))
        assert list(found) == [(True, True)] * 4


def test_an_interrupt_comes_when_they_have_started() -> None:
    came = []
    with pytest.raises(KeyboardInterrupt), process_pool(2) as pool:
        with interrupts_blocked():
            pool.submit(interrupts, 0)
            os.kill(os.getpid(), signal.SIGINT)
            came.append("started")
        came.append("not reached")
    assert came == ["started"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
