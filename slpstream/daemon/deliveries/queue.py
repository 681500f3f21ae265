"""The persistent queue of deliveries, which all parts share.

It consists of one database, with a `Deliverer` for each receiver.

Parts have to name their receivers before the queue is opened, because opening it deletes all deliveries for receivers
that aren't configured any more. Without any receiver, there is no database.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

from slpstream.daemon.deliveries.deliverer import Deliverer, Post, Receiver
from slpstream.model.errors import ConfigError, SinkError
from slpstream.store.deliveries import FILE_NAME, DeliveryStore
from slpstream.system.http_client import post as post_request
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics


class DeliveryQueue:
    """The deliveries of one daemon.

    Name all receivers with `expect`, then `open` the queue, and `close` it at the end.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._receivers: list[Receiver] = []
        self._deliverers: dict[str, Deliverer] = {}
        self._store: DeliveryStore | None = None
        self._log = get_logger()

    @property
    def store(self) -> DeliveryStore:
        """The open database."""
        if self._store is None:
            raise RuntimeError("the queue of deliveries is not open")
        return self._store

    def expect(self, receiver: Receiver) -> None:
        """Name a receiver. This must happen before `open`."""
        self._receivers.append(receiver)

    def deliverer(self, receiver: Receiver, *, post: Post = post_request) -> Deliverer:
        """Return the deliverer of the given receiver. The part has to run it."""
        deliverer = Deliverer(receiver, self.store, on_outcome=self._count, post=post)
        self._deliverers[receiver.name] = deliverer
        return deliverer

    def open(self, state_folder: Path) -> None:
        """Open the database, if there are any receivers. This blocks, and raises `ConfigError` if it fails."""
        if not self._receivers:
            return
        path = state_folder / FILE_NAME

        def warn(damaged: Path, what: str) -> None:
            self._log.error(
                "deliveries are damaged; what waited is lost", file=str(path), damaged=str(damaged), what=what
            )

        try:
            store = DeliveryStore(path, on_damage=warn)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError("configuration", "store.folder", "cannot be used for deliveries", found=error) from error
        configured = {receiver.id for receiver in self._receivers}
        try:
            try:
                store.retain(configured)
            except SinkError:  # if that was damage, the database is a new one now
                store.retain(configured)
        except SinkError as error:
            store.close()
            raise ConfigError("configuration", "store.folder", "cannot be written to", found=error.what) from error
        self._store = store

    def close(self) -> None:
        """Close the database. All deliverers must have ended before. This blocks."""
        if self._store is not None:
            self._store.close()

    def bind_gauges(self) -> None:
        """Export the gauges of all receivers."""
        bind, deliverers = self._metrics.bind_each, self._deliverers
        bind("slpstream_webhook_waiting_deliveries", lambda: {name: each.waiting for name, each in deliverers.items()})
        bind("slpstream_webhook_lag_seconds", lambda: {name: each.lag_seconds for name, each in deliverers.items()})
        bind("slpstream_webhook_gone", lambda: {name: float(each.gone.is_set()) for name, each in deliverers.items()})

    def _count(self, outcome: str, number: int) -> None:
        self._metrics.counter("slpstream_webhook_deliveries_total", outcome).inc(number)


def numbered(name: str, seen: Counter[str]) -> str:
    """Return a unique name, and add it to `seen`. If the name is already there, `-2`, `-3` and so on is appended."""
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"
