"""News of sets, on their way into the store of deliveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio

from slpstream.system.logs import get_logger

MAX_TRIES = 5

News = TypeVar("News")


class SetNews(Generic[News]):
    """The newest news of each set, as long as they aren't stored yet.

    Call `store_each` in one task, and call it again after a bug.
    """

    def __init__(self, collect_seconds: float) -> None:
        """If a set changes several times within `collect_seconds`, only the last change is stored."""
        self._collect_seconds = collect_seconds
        self._news: dict[tuple[str, str], News] = {}
        self._tries: Counter[tuple[str, str]] = Counter()
        self._changed = trio.Event()
        self._log = get_logger()

    def put(self, station: str, set_id: str, news: News) -> None:
        """Hand over news of a set, which will be stored. They replace older news of this set that aren't stored yet.

        This does not wait.
        """
        self._news[station, set_id] = news
        self._tries.pop((station, set_id), None)
        self._changed.set()

    async def store_each(self, store: Callable[[str, str, News], Awaitable[None]]) -> None:
        """Call `store` with the station, the id and the news of each set that has changed, until cancelled.

        If this fails because of a bug, we try the news again after all others. After `MAX_TRIES` we give them up,
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
