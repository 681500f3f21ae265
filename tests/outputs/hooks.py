"""A webhook between stations made of nothing and a receiver that is a function.

Time is virtual and jumps when everybody waits for it. The clock does not wait for worker threads, so what is done in
one is done in the event loop here (`inline`).
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from slpstream.model.summary import GameSummary
from slpstream.outputs.delivery import Deliverer, Outcome, Receiver
from slpstream.outputs.webhook import EventName, WebhookSink
from slpstream.store.deliveries import DeliveryStore, open_deliveries
from tests.outputs.receivers import SECRET, FakeReceiver
from tests.stream.fakes import FakeLog, FakeStation

EPOCH = 1_800_000_000.0
"""Unix time at virtual time 0."""
ALL: frozenset[EventName] = frozenset({"game_start", "game_end", "set"})


async def inline(work: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Takes the place of `trio.to_thread.run_sync`."""
    await trio.lowlevel.checkpoint()
    return work(*arguments)


class Hook:
    """One life of the webhook."""

    def __init__(
        self,
        store: DeliveryStore,
        receiver: FakeReceiver,
        *,
        events: frozenset[EventName] = ALL,
        keep_seconds: float = 72 * 3600.0,
        seed: int = 1,
    ) -> None:
        self.outcomes: dict[Outcome, int] = {}
        wanted = Receiver(
            "hook", "example.org", "http://example.org/hook", SECRET, 10.0, keep_seconds, "slpstream/test"
        )
        deliverer = Deliverer(
            wanted, store, on_outcome=self._count, send=receiver, wall_clock=wall_clock, chance=random.Random(seed)
        )
        self.sink = WebhookSink(
            deliverer,
            store,
            id="hook",
            name="example.org",
            events=events,
            stations=None,
            describe=lambda start, end: GameSummary(rules=start["format"], winners=(end or {}).get("winners", [])),
            wall_clock=wall_clock,
        )

    def _count(self, outcome: Outcome, count: int) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + count

    @asynccontextmanager
    async def running(self, *stations: FakeStation) -> AsyncIterator[Hook]:
        """Until the block is left: then it is killed."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.sink.run)
            for station in stations:
                nursery.start_soon(self.sink.follow, station.channel)
            yield self
            nursery.cancel_scope.cancel()


def wall_clock() -> float:
    """Virtual."""
    return EPOCH + trio.current_time()


def open_store(folder: Path) -> DeliveryStore:
    """As the daemon opens it."""
    return open_deliveries(folder / "deliveries.sqlite3")


def told(log: FakeLog) -> list[str]:
    """The cursors of what is told of a game."""
    return [m.cursor or "" for m in log.whole() if m.type in ("game_start", "game_end")]


def order_of(keys: Sequence[str]) -> list[str]:
    """Each once, as it came first."""
    return list(dict.fromkeys(keys))


def decoded(body: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(body)
    return value
