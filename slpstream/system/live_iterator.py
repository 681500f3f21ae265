"""Iterate over values as they arrive, in programs with or without an event loop.

The work itself is an async generator for trio. It runs in a thread of its own, and the iterator takes its values from a
short queue. That's why the same iterator works in a plain `for` loop, and in an `async for` loop under asyncio (for
example in a notebook) or trio.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from typing import Generic, Self, TypeVar

T = TypeVar("T")
Wake = Callable[[], object]
Wait = Callable[[], Awaitable[object]]

_MAX_QUEUED = 256
"""If this many values are waiting, the thread waits as well."""
_INTERRUPT_SECONDS = 0.5
"""On Windows, Ctrl-C only has an effect between two waits."""


class LiveIterator(Iterator[T], AsyncIterator[T]):
    """Values that arrive over time. Use `for` in a plain program, and `async for` under asyncio or trio.

    Errors are raised in your loop. If you leave the loop early, the work in the background ends soon afterwards. To
    wait for that, call `close` or `aclose`, or use the iterator in a `with` or `async with` statement.
    """

    def __init__(self, generator: Callable[[], AsyncGenerator[T, None]], title: str) -> None:
        """`generator` is called under trio. `title` says in the `repr` what the values are."""
        self._title = title
        self._source = _Source(generator)

    def __repr__(self) -> str:
        return f"<{self._title}; iterate with `for`, or with `async for` under asyncio and trio>"

    def __next__(self) -> T:
        taken = self._source.take()
        if not taken:
            raise StopIteration
        return taken[0]

    async def __anext__(self) -> T:
        taken = None
        while taken is None:
            wake, woken, pause = _event_loop()
            await pause()  # otherwise no other task would run while values are waiting
            taken = self._source.take(wake)
            if taken is None:
                try:
                    await woken()
                finally:
                    self._source.wakes.discard(wake)
        if not taken:
            raise StopAsyncIteration
        return taken[0]

    def close(self) -> None:
        """Stop the work in the background, and wait until it has ended."""
        self._source.stop()
        self._source.take()

    async def aclose(self) -> None:
        """Do the same as `close` without blocking the event loop."""
        self._source.stop()
        with suppress(StopAsyncIteration):
            await LiveIterator.__anext__(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        self._source.stop()


class _Source(Generic[T]):
    """The thread that runs the generator, and the queue of its values.

    The thread has no reference to the iterator, so that it ends if the iterator is forgotten.
    """

    def __init__(self, generator: Callable[[], AsyncGenerator[T, None]]) -> None:
        self._generator = generator
        self._changed = threading.Condition()
        self._queue: deque[T] = deque()
        self.wakes: set[Wake] = set()
        """Functions that wake the consumers that wait in an event loop."""
        self._error: BaseException | None = None
        self._started = self._stopped = self._over = False
        self._cancel: Wake = bool
        """Cancels the generator."""

    def take(self, wake: Wake | None = None) -> tuple[T, ...] | None:
        """Return the next value in a tuple, or an empty tuple at the end. Raises the error that ended the generator.

        This blocks. If you pass `wake`, which has to be safe to call from another thread, it returns `None` instead,
        and `wake` is called as soon as it is worth another try.
        """
        with self._changed:
            if not self._started and not self._over:
                self._started = True
                threading.Thread(target=self._run, name="slpstream iterator", daemon=True).start()
            while not self._queue and not self._over:
                if wake is not None:
                    self.wakes.add(wake)
                    return None
                self._changed.wait(_INTERRUPT_SECONDS)
            if self._queue:
                self._changed.notify_all()
                return (self._queue.popleft(),)
            error, self._error = self._error, None
            if error is not None:
                raise error
            return ()

    def stop(self) -> None:
        """Cancel the generator, and discard the values in the queue."""
        with self._changed:
            self._stopped = True
            self._over = self._over or not self._started
            self._queue.clear()
            self._error = None
            self._changed.notify_all()
            with suppress(RuntimeError):  # the thread is about to end
                self._cancel()

    def _run(self) -> None:
        import trio  # noqa: PLC0415 -- loading it takes longer than reading a game

        error: BaseException | None = None
        try:
            trio.run(self._produce)
        except BaseException as raised:  # noqa: BLE001 -- it is raised in the consumer
            error = raised
        with self._changed:
            self._over = True
            self._error = None if self._stopped else error
            self._wake()

    async def _produce(self) -> None:
        import trio  # noqa: PLC0415 -- the same

        with trio.CancelScope() as scope:
            with self._changed:
                self._cancel = partial(trio.lowlevel.current_trio_token().run_sync_soon, scope.cancel)
                if self._stopped:
                    scope.cancel()
            async with aclosing(self._generator()) as values:
                async for value in values:
                    with self._changed:
                        while len(self._queue) >= _MAX_QUEUED and not self._stopped:
                            self._changed.wait()
                        if self._stopped:
                            return
                        self._queue.append(value)
                        self._wake()

    def _wake(self) -> None:
        self._changed.notify_all()
        while self.wakes:
            with suppress(KeyError, RuntimeError):  # the consumer was cancelled just now, or its event loop has ended
                self.wakes.pop()()


def _event_loop() -> tuple[Wake, Wait, Wait]:
    """Return three functions for the running event loop: one that any thread can call, one that waits for this call,
    and one that lets other tasks run.
    """
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        event = trio.Event()
        token = trio.lowlevel.current_trio_token()
        return partial(token.run_sync_soon, event.set), event.wait, trio.lowlevel.checkpoint
    import asyncio  # noqa: PLC0415 -- slow, and seldom needed

    called = asyncio.Event()
    loop = asyncio.get_running_loop()
    return partial(loop.call_soon_threadsafe, called.set), called.wait, partial(asyncio.sleep, 0)
