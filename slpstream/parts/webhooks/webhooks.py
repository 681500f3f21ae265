"""All webhooks of a daemon."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.config.secrets import read_secret_bytes
from slpstream.game.described import DescribedGame
from slpstream.model.errors import ConfigError
from slpstream.model.summary import GameSummary
from slpstream.model.version import __version__
from slpstream.parts import registry
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import Deliveries, Receiver
from slpstream.parts.webhooks.part import Webhook
from slpstream.parts.webhooks.sink import EventName, WebhookSink
from slpstream.stream.channel import Channel
from slpstream.system.http_client import target_of
from slpstream.system.text import numbered

_ALL_EVENTS: frozenset[EventName] = frozenset({"game_start", "game_end", "set", "situation"})


class Webhooks(RunningPart):
    """All webhooks.

    Each of them reads the log at its own pace, so if a receiver is down, this doesn't delay the others.
    """

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if a secret can't be read."""
        self._host = host
        wanted = host.config.sections(Webhook)
        self._wanted = list(zip(wanted, _receivers(wanted), strict=True))
        self._webhooks: list[WebhookSink] = []

    def open(self) -> None:
        """Create the sinks. Raises `ConfigError` if there is nothing that stores deliveries."""
        deliveries = self._host.find(Deliveries)
        if deliveries is None:
            raise ConfigError("configuration", "webhooks", "this installation has no part for deliveries")
        self._webhooks = [self._sink(deliveries, wanted, receiver) for wanted, receiver in self._wanted]

    async def run(self) -> None:
        """Post deliveries until cancelled."""
        async with trio.open_nursery() as nursery:
            for each in self._webhooks:
                run = partial(self._host.errors.keep_running, "webhook", each.run, webhook=each.name)
                nursery.start_soon(run)

    async def follow(self, channel: Channel) -> None:
        """Make deliveries of the games of a station.

        If some are still waiting when the station ends, they are made too.
        """
        async with trio.open_nursery() as nursery:
            for each in self._webhooks:
                follow = partial(each.follow, channel)
                keep_running = partial(self._host.errors.keep_running, "webhook", follow, station=channel.station)
                nursery.start_soon(keep_running)

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Make deliveries of a set."""
        with_bracket = dict(payload)
        with self._host.errors.contain("webhook", station=station):  # the set is delivered all the same
            of_startgg = registry.function("startgg_variables")
            bracket = None if of_startgg is None else of_startgg(payload)
            if bracket is not None:
                with_bracket["startgg"] = bracket
        for each in self._webhooks:
            with self._host.errors.contain("webhook", station=station, webhook=each.name):
                each.set_changed(station, with_bracket)

    async def situation_found(self, station: str, payload: Mapping[str, Any]) -> None:
        """Store deliveries of a situation."""
        for each in self._webhooks:
            with self._host.errors.contain("webhook", station=station, webhook=each.name):
                await each.situation_found(station, payload)

    def _sink(self, deliveries: Deliveries, wanted: Webhook, receiver: Receiver) -> WebhookSink:
        return WebhookSink(
            deliveries.deliverer(receiver),
            deliveries.store,
            id=receiver.id,
            name=receiver.name,
            events=frozenset(wanted.events) or _ALL_EVENTS,
            stations=frozenset(wanted.stations) or None,
            describe=_describe,
        )


def _receivers(webhooks: list[Webhook]) -> list[Receiver]:
    """Return the receivers of the webhooks.

    They are identified by URL, so you can change their order in the configuration.
    """
    found: list[Receiver] = []
    ids, names = Counter[str](), Counter[str]()
    for i, wanted in enumerate(webhooks):
        secret = read_secret_bytes(Path(wanted.secret_file), f"webhooks[{i}].secret_file")
        found.append(
            Receiver(
                id=numbered(hashlib.sha256(wanted.url.encode()).hexdigest()[:16], ids),
                name=numbered(target_of(wanted.url).authority, names),
                url=wanted.url,
                secret=secret,
                timeout_seconds=wanted.timeout_seconds,
                keep_seconds=wanted.keep_hours * 3600,
                user_agent=f"slpstream/{__version__}",
            )
        )
    return found


def _describe(game_start: Mapping[str, Any], game_end: Mapping[str, Any] | None) -> GameSummary:
    return DescribedGame.of_payloads("", game_start, game_end).summary()
