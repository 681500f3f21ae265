"""Answers that are computed from the index of games, and kept for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

import trio

T = TypeVar("T")
_KEPT_SECONDS = 10
"""How long an answer is kept although there are other games now."""


class _Kept(NamedTuple, Generic[T]):
    answer: T
    generation: int
    at_seconds: float


class KeptAnswers(Generic[T]):
    """Keeps the newest answers until there are other games, but for at least 10 seconds."""

    def __init__(self, max_answers: int) -> None:
        self._max_answers = max_answers
        self._kept: OrderedDict[Hashable, _Kept[T]] = OrderedDict()
        self._generation = 0
        """Counts the changes of the index."""
        self._computing = trio.Lock()

    def games_changed(self) -> None:
        """Note that there are other games now."""
        self._generation += 1

    def clear(self) -> None:
        """Forget all answers."""
        self._kept.clear()

    async def get(self, key: Hashable, compute: Callable[[], Awaitable[T]]) -> T:
        """Return the answer for a key. If it isn't kept, this calls `compute`, but only for one answer at a time."""
        async with self._computing:
            kept, now = self._kept.get(key), trio.current_time()
            if kept is None or (kept.generation != self._generation and now - kept.at_seconds > _KEPT_SECONDS):
                generation = self._generation
                kept = self._kept[key] = _Kept(await compute(), generation, now)
                while len(self._kept) > self._max_answers:
                    self._kept.popitem(last=False)
        return kept.answer
