"""The persistent queue of deliveries that parts share. It is one database, with a `Deliverer` for each receiver.

As long as there are no receivers, there is no database.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path

from slpstream.model.errors import ConfigError
from slpstream.parts import services
from slpstream.parts.deliveries.deliverer import Deliverer
from slpstream.parts.deliveries.store import FILE_NAME, DeliveryStore
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import Receiver
from slpstream.system.http_client import Post
from slpstream.system.http_client import post as post_request
from slpstream.system.logs import get_logger


class DeliveryQueue(RunningPart):
    """The deliveries of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._deliverers: dict[str, Deliverer] = {}
        """By the ids of their receivers."""
        self._store: DeliveryStore | None = None
        self._log = get_logger()
        host.provide(services.Deliveries, self)

    @property
    def store(self) -> DeliveryStore:
        """The open database."""
        if self._store is None:
            raise RuntimeError("the queue of deliveries has no receiver")
        return self._store

    def deliverer(self, receiver: Receiver, *, post: Post = post_request) -> Deliverer:
        """Return the deliverer of a receiver. The first call opens the database, which blocks.

        Raises `ConfigError` if that isn't possible.
        """
        if self._store is None:
            self._store = self._opened()
        deliverer = Deliverer(receiver, self._store, on_outcome=self._count, post=post)
        self._deliverers[receiver.id] = deliverer
        return deliverer

    def open(self) -> None:
        """Export the gauges of all receivers."""
        bind = self._host.metrics.bind_each
        bind("slpstream_webhook_waiting_deliveries", lambda: {each.name: each.waiting for each in self._all()})
        bind("slpstream_webhook_lag_seconds", lambda: {each.name: each.lag_seconds for each in self._all()})
        bind("slpstream_webhook_gone", lambda: {each.name: float(each.gone.is_set()) for each in self._all()})

    def close(self) -> None:
        """Close the database, if it is open."""
        if self._store is not None:
            self._store.close()

    async def run(self) -> None:
        """Delete the deliveries for receivers that aren't configured any more.

        We can only do this now, because all parts have named their receivers when they were opened.
        """
        if self._deliverers:
            any_deliverer = self._all()[0]  # all of them share the store
            await any_deliverer.call_store(partial(self.store.retain, set(self._deliverers)))

    def _all(self) -> list[Deliverer]:
        return list(self._deliverers.values())

    def _opened(self) -> DeliveryStore:
        path = self._host.state_folder / FILE_NAME

        def warn(damaged: Path, what: str) -> None:
            self._log.error(
                "deliveries are damaged; what waited is lost", file=str(path), damaged=str(damaged), what=what
            )

        try:
            return DeliveryStore(path, on_damage=warn)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError("configuration", "store.folder", "cannot be used for deliveries", found=error) from error

    def _count(self, outcome: str, number: int) -> None:
        self._host.metrics.counter("slpstream_webhook_deliveries_total", outcome).inc(number)
