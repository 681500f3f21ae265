"""One iterator for plain loops, asyncio and trio."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator

import pytest
import trio

from slpstream.system.live_iterator import LiveIterator
from tests.iterated import DEADLINE_SECONDS, KINDS, taken


class Numbers:
    """Counts up to `count`, and then raises `error` or, if there is none, waits for ever."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self.count = count
        self.error = error
        self.made = 0
        self.began = threading.Event()
        self.ended = threading.Event()

    def __call__(self) -> LiveIterator[int]:
        return LiveIterator(self.generate, "numbers")

    async def generate(self) -> AsyncGenerator[int, None]:
        self.began.set()
        try:
            for number in range(self.count):
                self.made += 1
                yield number
            if self.error is not None:
                raise self.error
            await trio.sleep_forever()
        finally:
            self.ended.set()


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_then_the_error_arrive(kind: str) -> None:
    numbers = Numbers(1000, error=ValueError("broken"))
    found: list[int] = []

    def take(number: int) -> bool:
        found.append(number)
        return False

    with pytest.raises(ValueError, match="broken"):
        taken(kind, numbers, take)
    assert found == list(range(1000))
    assert numbers.ended.is_set()


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_the_loop_early_ends_the_work(kind: str) -> None:
    numbers = Numbers(10)
    assert taken(kind, numbers, lambda number: number == 9) == list(range(10))
    assert numbers.ended.is_set()


def test_forgotten_iterator_ends_the_work() -> None:
    numbers = Numbers(10)
    for number in numbers():
        if number == 3:
            break
    assert numbers.ended.wait(DEADLINE_SECONDS)


def test_closed_iterator_is_at_its_end() -> None:
    numbers = Numbers(10)
    iterator = numbers()
    iterator.close()
    assert list(iterator) == []
    assert not numbers.began.is_set()
    iterator = numbers()
    assert next(iterator) == 0
    iterator.close()
    assert list(iterator) == []


def test_slow_consumer_holds_up_the_work() -> None:
    numbers = Numbers(100_000, error=ValueError())
    with numbers() as iterator:
        for number in iterator:
            assert numbers.made <= number + 300
            if number == 5000:
                break


def test_cancelled_wait_loses_no_value() -> None:
    queue: list[int] = []
    sent = threading.Event()

    async def generate() -> AsyncGenerator[int, None]:
        for number in range(20):
            while not sent.is_set():
                await trio.sleep(0.001)
            sent.clear()
            yield number

    async def run() -> None:
        async with LiveIterator(generate, "numbers") as values:
            while len(queue) < 20:
                waiting = asyncio.ensure_future(anext(values))
                await asyncio.sleep(0)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
                sent.set()
                queue.append(await anext(values))

    asyncio.run(run())
    assert queue == list(range(20))


def test_other_tasks_run_while_values_are_waiting() -> None:
    async def main() -> int:
        turns = 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count_turns())
        async with Numbers(1000, error=ValueError())() as values:
            for _ in range(200):
                await anext(values)
        counting.cancel()
        return turns

    assert asyncio.run(main()) >= 200
