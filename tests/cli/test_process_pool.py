"""Worker processes: Ctrl-C interrupts the main process only."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from slpstream.cli.process_pool import interrupts_blocked, process_pool, result_of


def sigint_state(_: int) -> tuple[bool, bool]:
    """Whether SIGINT is blocked and whether it is ignored. Called in a worker."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return signal.SIGINT in blocked, signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_workers_block_and_ignore_sigint() -> None:
    with process_pool(2) as pool:
        with interrupts_blocked():
            states = pool.map(sigint_state, range(4))
        assert list(states) == [(True, True)] * 4


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Handle SIGINT as on a terminal. Shells make their background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupt_is_delivered_after_the_workers_have_started() -> None:
    reached = []
    with pytest.raises(KeyboardInterrupt), process_pool(2) as pool:
        with interrupts_blocked():
            pool.submit(sigint_state, 0)
            # To this thread, because a thread left over from an earlier test might not block the signal.
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            reached.append("end of the block")
        reached.append("after the block")
    assert reached == ["end of the block"]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.usefixtures("interruptible")
def test_interrupt_of_a_wait_is_delivered_between_polls() -> None:
    waits = []

    def interrupt() -> None:
        waits.append("a poll")
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    future: Future[int] = Future()
    with pytest.raises(KeyboardInterrupt):
        result_of(future, interrupt)
    assert waits == ["a poll"]
    future.set_result(7)
    assert result_of(future, interrupt) == 7


@pytest.mark.usefixtures("interruptible")
def test_interrupt_of_the_shutdown_is_delivered_after_it() -> None:
    with pytest.raises(KeyboardInterrupt), process_pool(1) as pool, interrupts_blocked():
        future = pool.submit(sigint_state, 0)
        future.add_done_callback(lambda _: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT))
    assert future.done()
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(sigint_state, 0)
