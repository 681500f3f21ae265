"""A webhook between fake stations and a fake receiver, in virtual time."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from slpstream.model.summary import GameSummary
from slpstream.parts.deliveries.deliverer import Deliverer, Outcome
from slpstream.parts.deliveries.store import DeliveryStore
from slpstream.parts.services import Receiver
from slpstream.parts.webhooks.sink import EventName, WebhookSink
from tests.parts.receivers import SECRET, FakeReceiver
from tests.stream.fakes import FakeLog, FakeStation
from tests.virtual_time import now

ALL: frozenset[EventName] = frozenset({"game_start", "game_end", "set", "situation"})


class Hook:
    """One run of the webhook."""

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
        receiver_config = Receiver(
            "hook", "example.org", "http://example.org/hook", SECRET, 10.0, keep_seconds, "slpstream/test"
        )
        self.deliverer = deliverer = Deliverer(
            receiver_config,
            store,
            on_outcome=self._count,
            post=receiver,
            wall_clock=now,
            rng=random.Random(seed),
        )
        self.sink = WebhookSink(
            deliverer,
            store,
            id="hook",
            name="example.org",
            events=events,
            stations=None,
            describe=lambda start, end: GameSummary(rules=start["format"], winners=(end or {}).get("winners", [])),
            wall_clock=now,
        )

    def _count(self, outcome: Outcome, count: int) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + count

    @asynccontextmanager
    async def running(self, *stations: FakeStation) -> AsyncIterator[Hook]:
        """Run the webhook for the duration of the block, then kill it."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.sink.run)
            for station in stations:
                nursery.start_soon(self.sink.follow, station.channel)
            yield self
            nursery.cancel_scope.cancel()


def open_store(folder: Path) -> DeliveryStore:
    """Open a store like the daemon."""
    return DeliveryStore(folder / "deliveries.sqlite3")


def keys_of(log: FakeLog) -> list[str]:
    """The keys of the deliveries about a game: the cursors of the messages."""
    return [m.cursor or "" for m in log.whole() if m.type in ("game_start", "game_end")]


def unique(keys: Sequence[str]) -> list[str]:
    """Each key once, in the order of first arrival."""
    return list(dict.fromkeys(keys))
