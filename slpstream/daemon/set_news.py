"""News of sets on their way into the store of deliveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio

from slpstream.system.logs import get_logger

MAX_TRIES = 5

News = TypeVar("News")


class SetNews(Generic[News]):
    """The newest news of each set that are not stored yet. `store_each` in one task; after a bug, run it again."""

    def __init__(self, collect_seconds: float) -> None:
        """Changes of a set within `collect_seconds` are stored together."""
        self._collect_seconds = collect_seconds
        self._news: dict[tuple[str, str], News] = {}
        self._tries: Counter[tuple[str, str]] = Counter()
        self._changed = trio.Event()
        self._log = get_logger()

    def put(self, station: str, set_id: str, news: News) -> None:
        """Store news of a set, in place of older ones that are not stored yet. Does not wait."""
        self._news[station, set_id] = news
        self._tries.pop((station, set_id), None)
        self._changed.set()

    async def store_each(self, store: Callable[[str, str, News], Awaitable[None]]) -> None:
        """Call `store` with the station, the id and the news of each set that has changed, until cancelled.

        If that fails because of a bug, the news are tried again after all others. They are given up after `MAX_TRIES`,
        because each failure interrupts the whole output.
        """
        self._changed.set()  # there can be news from before a bug
        while True:
            await self._changed.wait()
            await trio.sleep(self._collect_seconds)
            self._changed = trio.Event()
            for key in list(self._news):
                news = self._news.pop(key)
                if self._tries[key] == MAX_TRIES:
                    del self._tries[key]
                    self._log.error("news of a set are given up after internal errors", station=key[0], set_id=key[1])
                    continue
                self._news[key] = news
                self._tries[key] += 1
                await store(*key, news)
                if self._news[key] is news:
                    del self._news[key], self._tries[key]
