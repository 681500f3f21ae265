"""The configured outputs of a daemon: webhooks, chats, JSON lines, files for OBS and scoreboards.

Each output runs one task for each station, which ends with the station. Outputs do not know of each other; what they
need from other rooms (summaries of games, a database for deliveries) is passed to them here.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from slpstream.config import Config, read_secret_bytes
from slpstream.config.sections import Chat, JsonLines, Webhook
from slpstream.game.described import DescribedGame
from slpstream.model.errors import ConfigError, SinkError
from slpstream.model.summary import GameSummary
from slpstream.model.topics import TOPICS, Topic
from slpstream.model.version import __version__
from slpstream.outputs import Deliverer, JsonLinesSink, ObsFiles, Receiver, WebhookSink
from slpstream.outputs.post import target_of
from slpstream.outputs.webhook import EventName
from slpstream.store.deliveries import FILE_NAME, DeliveryStore
from slpstream.stream import Channel, OnAir
from slpstream.system.internal_errors import InternalErrors, Part
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics

if TYPE_CHECKING:
    from slpstream.daemon.scoreboards import Scoreboards
    from slpstream.outputs.chat.sink import ChatSink

_WRITER_THREADS = 4
_ALL_EVENTS: frozenset[EventName] = frozenset({"game_start", "game_end", "set", "situation"})
_ALL_BUT_FRAMES: frozenset[Topic] = frozenset(TOPICS) - {"frame"}

Follow = Callable[[Channel], Awaitable[None]]


class Outputs:
    """All outputs of a daemon: `open` them, `run` them once, `follow` each station, `close` them."""

    def __init__(
        self, config: Config, metrics: Metrics, errors: InternalErrors | None = None, *, on_air: OnAir | None = None
    ) -> None:
        """Raises `ConfigError` for a secret that cannot be read, and for two outputs that would write the same
        files."""
        self._receivers = list(zip(config.webhooks, _receivers(config.webhooks), strict=True))
        self._chat_receivers = list(zip(config.chat, _chat_receivers(config), strict=True))
        _check_folders(config.jsonl)
        self._metrics = metrics
        self._errors = errors or InternalErrors()
        self._on_air = on_air or OnAir()
        self._limiter = trio.CapacityLimiter(_WRITER_THREADS)
        self._jsonl = [self._json_lines(wanted) for wanted in config.jsonl]
        folder = config.obs.folder
        self._obs = ObsFiles(Path(folder).expanduser(), limiter=self._limiter) if folder else None
        self._scoreboards = _scoreboards(config, metrics, self._limiter)
        self._store: DeliveryStore | None = None
        self._webhooks: list[WebhookSink] = []
        self._chats: list[ChatSink] = []
        self._log = get_logger()

    def open(self, state_folder: Path) -> None:
        """Open the database in which deliveries wait. Blocks. Raises `ConfigError`."""
        if self._receivers or self._chat_receivers:
            store = self._store = self._open(state_folder / FILE_NAME)
            self._webhooks = [self._webhook(wanted, receiver, store) for wanted, receiver in self._receivers]
            self._chats = [self._chat(wanted, receiver, store) for wanted, receiver in self._chat_receivers]

    def close(self) -> None:
        """Close the database, once no output runs any more. Blocks."""
        if self._store is not None:
            self._store.close()

    async def run(self) -> None:
        """Post the deliveries of webhooks and chats, and update scoreboards, until cancelled."""
        async with trio.open_nursery() as nursery:
            if self._scoreboards is not None:
                follow = partial(self._scoreboards.follow_on_air, self._on_air)
                nursery.start_soon(self._errors.keep_running, "scoreboard", follow)
                for board in self._scoreboards.boards:
                    run = partial(self._errors.keep_running, "scoreboard", board.run, scoreboard=board.name)
                    nursery.start_soon(run)
            for webhook in self._webhooks:
                nursery.start_soon(partial(self._errors.keep_running, "webhook", webhook.run, webhook=webhook.name))
            for chat in self._chats:
                nursery.start_soon(partial(self._errors.keep_running, "chat", chat.run, chat=chat.name))

    async def follow(self, channel: Channel) -> None:
        """Feed all outputs with the games of a station until cancelled. Start it once for each station.

        Deliveries that wait when the station goes are still made. If the station comes back, its outputs continue where
        they were.
        """
        async with trio.open_nursery() as nursery:
            for part, follow in self._follows():
                run = partial(follow, channel)
                nursery.start_soon(partial(self._errors.keep_running, part, run, station=channel.station))

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of a station. Returns at once."""
        if self._obs is not None:
            with self._errors.contain("obs", station=station):
                self._obs.set_changed(station, payload)
        if self._scoreboards is not None:
            with self._errors.contain("scoreboard", station=station):
                self._scoreboards.set_changed(station, payload)
        for chat in self._chats:
            with self._errors.contain("chat", station=station, chat=chat.name):
                chat.set_changed(station, payload)
        if self._webhooks:
            with_bracket = dict(payload)
            with self._errors.contain("webhook", station=station):  # the set is delivered all the same
                bracket = _bracket_set(payload)
                if bracket is not None:
                    with_bracket["startgg"] = bracket
            for webhook in self._webhooks:
                with self._errors.contain("webhook", station=station, webhook=webhook.name):
                    webhook.set_changed(station, with_bracket)

    async def situation_found(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take a situation that was found in a game of a station; returns when webhooks have stored it."""
        for webhook in self._webhooks:
            with self._errors.contain("webhook", station=station, webhook=webhook.name):
                await webhook.situation_found(station, payload)

    def not_ready(self) -> list[str]:
        """The reasons why outputs do not work. The receiver of a webhook may be down: its deliveries wait."""
        reasons = [reason for sink in self._jsonl for reason in sink.not_ready()]
        reasons += self._obs.not_ready() if self._obs is not None else []
        reasons += self._scoreboards.not_ready() if self._scoreboards is not None else []
        return reasons + [f"chat {chat.name}: its webhook does not exist" for chat in self._chats if chat.gone]

    def bind_gauges(self) -> None:
        """Exports the gauges of webhooks and scoreboards."""
        bind = self._metrics.bind_each
        bind("slpstream_webhook_waiting_deliveries", lambda: {hook.name: hook.waiting for hook in self._posting})
        bind("slpstream_webhook_lag_seconds", lambda: {hook.name: hook.lag_seconds for hook in self._posting})
        bind("slpstream_webhook_gone", lambda: {hook.name: float(hook.gone) for hook in self._posting})
        boards = () if self._scoreboards is None else self._scoreboards.boards
        bind("slpstream_scoreboard_working", lambda: {board.name: float(board.trouble is None) for board in boards})

    @property
    def _posting(self) -> list[WebhookSink | ChatSink]:
        return [*self._webhooks, *self._chats]

    def _follows(self) -> Iterable[tuple[Part, Follow]]:
        yield from (("webhook", webhook.follow) for webhook in self._webhooks)
        yield from (("chat", chat.follow) for chat in self._chats)
        yield from (("jsonl", sink.follow) for sink in self._jsonl)
        if self._obs is not None:
            yield "obs", self._obs.follow

    def _open(self, path: Path) -> DeliveryStore:
        def warn(aside: Path, what: str) -> None:
            self._log.error(
                "deliveries are damaged; what waited is lost", file=str(path), damaged=str(aside), what=what
            )

        try:
            store = DeliveryStore(path, on_damage=warn)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError("configuration", "store.folder", "cannot be used for deliveries", found=error) from error
        configured = {receiver.id for _, receiver in (*self._receivers, *self._chat_receivers)}
        try:
            try:
                store.retain(configured)
            except SinkError:  # if that was damage, the database is a new one now
                store.retain(configured)
        except SinkError as error:
            store.close()
            raise ConfigError("configuration", "store.folder", "cannot be written to", found=error.what) from error
        return store

    def _count(self, outcome: str, number: int) -> None:
        self._metrics.counter("slpstream_webhook_deliveries_total", outcome).inc(number)

    def _chat(self, wanted: Chat, receiver: Receiver, store: DeliveryStore) -> ChatSink:
        from slpstream.daemon.chats import make_chat  # noqa: PLC0415

        return make_chat(wanted, receiver, store, self._count)

    def _webhook(self, wanted: Webhook, receiver: Receiver, store: DeliveryStore) -> WebhookSink:
        return WebhookSink(
            Deliverer(receiver, store, on_outcome=self._count),
            store,
            id=receiver.id,
            name=receiver.name,
            events=frozenset(wanted.events) or _ALL_EVENTS,
            stations=frozenset(wanted.stations) or None,
            describe=_describe,
        )

    def _json_lines(self, wanted: JsonLines) -> JsonLinesSink:
        metrics = self._metrics
        return JsonLinesSink(
            Path(wanted.folder).expanduser(),
            stations=frozenset(wanted.stations) or None,
            topics=frozenset(wanted.topics) or _ALL_BUT_FRAMES,
            frames=wanted.frames,
            limiter=self._limiter,
            on_bytes=lambda station, count: metrics.counter("slpstream_jsonl_bytes_total", station).inc(count),
        )


def _chat_receivers(config: Config) -> list[Receiver]:
    if not config.chat:
        return []
    from slpstream.daemon.chats import chat_receivers  # noqa: PLC0415

    return chat_receivers(config.chat)


def _scoreboards(config: Config, metrics: Metrics, limiter: trio.CapacityLimiter) -> Scoreboards | None:
    if not config.scoreboards:
        return None
    from slpstream.daemon.scoreboards import Scoreboards  # noqa: PLC0415

    return Scoreboards(config.scoreboards, metrics, limiter)


def _receivers(webhooks: Sequence[Webhook]) -> list[Receiver]:
    """The receivers of the webhooks. They are identified by URL, so they survive a reordering of the configuration."""
    found: list[Receiver] = []
    ids, names = Counter[str](), Counter[str]()
    for i, wanted in enumerate(webhooks):
        secret = read_secret_bytes(Path(wanted.secret_file), f"webhooks[{i}].secret_file")
        name = target_of(wanted.url).authority
        id = hashlib.sha256(wanted.url.encode()).hexdigest()[:16]
        found.append(
            Receiver(
                id=_numbered(id, ids),
                name=_numbered(name, names),
                url=wanted.url,
                secret=secret,
                timeout_seconds=wanted.timeout_seconds,
                keep_seconds=wanted.keep_hours * 3600,
                user_agent=f"slpstream/{__version__}",
            )
        )
    return found


def _numbered(name: str, seen: Counter[str]) -> str:
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"


def _check_folders(jsonl: Sequence[JsonLines]) -> None:
    folders = [Path(wanted.folder).expanduser().resolve() for wanted in jsonl]
    for i, folder in enumerate(folders):
        if folder in folders[:i]:
            raise ConfigError("configuration", f"jsonl[{i}].folder", "is there twice", found=folder)


def _bracket_set(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    from slpstream.tournament.bracket.startgg.variables import bracket_set  # noqa: PLC0415 -- few daemons need it

    return bracket_set(payload)


def _describe(game_start: Mapping[str, Any], game_end: Mapping[str, Any] | None) -> GameSummary:
    return DescribedGame.of_payloads("", game_start, game_end).summary()
