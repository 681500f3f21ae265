"""A receiver of results that keeps what it gets, and the desk that sends to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import trio

from slpstream.model.errors import SinkError
from slpstream.outputs.delivery import signature
from slpstream.store.reports import open_reports
from slpstream.tournament.bracket.desk import BracketDesk, StationSet, Surroundings, Wishes
from slpstream.tournament.bracket.interface import Connection, Headers, HttpAnswer
from slpstream.tournament.bracket.queue import Rules
from slpstream.tournament.bracket.webhook import WebhookResults
from tests.tournament.bracket.virtual_time import now


class Receiver:
    """Posts of results, and the answers to them."""

    def __init__(self) -> None:
        self.answers: list[int | str] = []
        self.posts: list[tuple[Mapping[str, str], Any]] = []

    def connection(self) -> Connection:
        async def request(method: str, url: str, headers: Headers, body: bytes) -> HttpAnswer:
            await trio.lowlevel.checkpoint()
            self.posts.append((dict(headers), json.loads(body)))
            answer = self.answers.pop(0) if self.answers else 204
            if isinstance(answer, str):
                raise SinkError(answer)
            return HttpAnswer(answer, b"")

        async def secret() -> str:
            return "secret"

        return Connection("https://example.org/", (), request, secret, signature)


@contextmanager
def desk_of(receiver: Receiver, folder: Path) -> Iterator[BracketDesk]:
    async def sets_since(station: str | None, since_ms: int) -> list[StationSet]:
        return []

    results = WebhookResults(receiver.connection(), wall_clock=now)
    wishes = Wishes(dry_run=False, rules=Rules(confirm=False), hold_seconds=0.0)
    around = Surroundings(lambda: {"setup-1": "Setup 1"}, sets_since)
    store = open_reports(folder / "r.sqlite3")
    yield BracketDesk("webhook", results, None, store, wishes, around, wall_clock=now)
    store.close()
