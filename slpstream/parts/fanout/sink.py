"""Send the logs of each station into Redis Streams. Each message is sent exactly once, even if something crashes.

If you want to know the layout in the broker, have a look at `streams`. This is why no message is lost or duplicated:

- Only the broker knows which messages were sent; this process stores no progress. A session first takes a turn for each
  log, which stops all messages of earlier sessions that are still in transit, and then asks for the last message of
  each game. A `LogConsumer` continues from there, out of the rings or the replay files. A session can therefore end at
  any moment: with its connection, with the process, or with a broker that restarts without its last second or without
  any data.
- The messages of a log are sent in order over one connection, and each call to the broker is executed whole or not at
  all. So the broker's messages of a game have no gaps, and the last one shows the broker's progress.
- A broker that has lost whole games is sent them again, as far as this process has sent them.
- A broker that is full refuses messages. The logs are then trimmed, and kept shorter until there is room again. The
  same happens when a broker deletes a log to make room.

If the broker is down, we don't run any consumers and don't queue anything. The daemon keeps on reading, and later we
read the missing messages from the files. If the broker is slow, we queue at most `_MAX_QUEUED_BYTES`, and then the
consumers have to wait.

All logs share a single writer. While a call is in progress, it collects messages, and sends them with the next call.
This means that calls are small if there's little to do, and large if there's a lot.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import structlog
import trio
from coredis.exceptions import AuthorizationError, ResponseError
from coredis.tokens import PureToken

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import START, Cursor, FramesMode, LogMessage, Position, parse_line
from slpstream.parts.fanout.connection import (
    BROKER_ERRORS,
    Address,
    Client,
    connected,
    entries_of,
    keep_connected,
    reason_of,
)
from slpstream.parts.fanout.streams import (
    APPEND,
    FIELD,
    GONE,
    MODES,
    TAKE_TURN,
    EventKeys,
    StationKeys,
    Turn,
    aside_field,
    by_game,
    entry_id,
    ids_of_turn,
    parse_turns,
    turn_record,
    turns_to_forget,
    unpack,
)
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game
from slpstream.stream.log_consumer import ConsumerOffset, LogConsumer
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger

_ALIVE_SECONDS = 6
"""An ingest without a heartbeat for this long is considered dead."""

_HEARTBEAT_SECONDS = 2.0
_POLL_SECONDS = 0.1
"""Interval at which stations and their states are compared with what was sent."""
_TRIM_SECONDS = 60.0
_SIGN_OFF_SECONDS = 1.0
_MAX_QUEUED_BYTES = 2 << 20
_MAX_CALL_BYTES = 256 * 1024
_MAX_PIPELINE_BYTES = 1 << 20
_KNOWN_GAMES = 64
"""Number of games whose positions are read from the broker at the beginning of a session."""
_REMEMBERED_GAMES = 16
MIN_TURN_SECONDS = 0.25
"""Minimum duration of a turn while games alternate."""
_TURNS_PER_PRUNING = 256
_KEPT_STATUSES = 1000
_MIN_KEPT_MESSAGES = 1024
"""Logs are not trimmed below this for a full broker. A gateway that reads fewer entries than it asked for concludes
that it has missed none, so each log must keep more than a gateway reads at once."""
_SHRINK, _GROW = 0.75, 1.1
_GROW_SECONDS = 30.0
_REFUSED = "OOM command not allowed"
_LATE_JOINER_TYPES = ("game_start", "stats")

_encode = msgspec.json.Encoder().encode


class OutgoingLog:
    """The state of one log. It lives longer than a session."""

    def __init__(self, keys: StationKeys, mode: FramesMode, max_messages: int) -> None:
        self.keys = keys
        self.mode = mode
        self.max_messages = max_messages
        self.kept_messages = max_messages
        """What the stream is trimmed to: less than `max_messages` when the broker is too small."""
        self.newest_id = b"0-0"
        """The newest id of the stream once everything queued is sent."""
        self.exists = self.has_turns = False
        """Whether the stream, and the hash of its turns, were written in this session."""
        self.games: dict[str, None] = {}
        """The newest games that were sent, oldest first."""
        self.aside: set[str] = set()
        """The games whose newest turn is marked as aside."""
        self.confirmed: tuple[str, Position] | None = None
        """Game and position of the last message that the broker has accepted."""
        self.complete_at = time.monotonic()
        """When the broker last had all messages."""
        self.sent_at = time.time()
        self.ordinals: list[int] = []
        """The turns of the stream, oldest first."""
        self.begun = False
        """Whether a session has read how far the broker has come."""

    def note(self, game_id: str, position: Position) -> None:
        """Note that messages of a game were sent, up to the given position."""
        self.sent_at = time.time()
        self.confirmed = (game_id, position)
        self.games.pop(game_id, None)
        self.games[game_id] = None
        while len(self.games) > _REMEMBERED_GAMES:
            del self.games[next(iter(self.games))]

    def min_ordinal(self, max_age_seconds: float) -> int:
        """Return the oldest turn that should be kept, where 0 means all of them.

        A turn is too old if the next one began before the age limit, or if nothing was sent since then.
        """
        if not max_age_seconds or not self.ordinals:
            return 0
        before_ms = (time.time() - max_age_seconds) * 1000
        if self.sent_at * 1000 < before_ms:
            return self.ordinals[-1] + 1
        return max((ordinal for ordinal in self.ordinals if ordinal <= before_ms), default=0)


class QueuedBatch(NamedTuple):
    """Messages of one turn that are being sent, or that are waiting for the writer."""

    log: OutgoingLog
    ordinal: int
    messages: Sequence[LogMessage]
    lines: Sequence[bytes]
    size_bytes: int
    after: bytes
    """The newest id of the stream before these messages."""
    for_late_joiners: bool
    """Whether late joiners begin with this game: not if it is aside."""


class DataLost(ResponseError):
    """Raised if the broker has lost some of the keys that were written in this session."""


class RedisSink:
    """Sends all stations of one daemon.

    You should call `run` in exactly one task. If a bug has ended it, call it again.
    """

    def __init__(
        self,
        address: Address,
        event: str,
        stations: Callable[[], Mapping[str, Channel]],
        *,
        max_messages: int,
        max_age_seconds: float,
        on_sent: Callable[[str, int], None],
        on_reconnect: Callable[[], None],
        errors: InternalErrors | None = None,
    ) -> None:
        """`stations` returns all stations by name. It is called often, because they can come and go.

        `max_messages` limits a live log. For a finalized log, we use half of this, so that both cover the same time. If
        `max_age_seconds` is 0, there's no limit for the age. `on_sent` is called with a station and how many of its
        messages were sent.
        """
        self._address = address
        self._keys = EventKeys(event)
        self._stations = stations
        self._max_messages = max_messages
        self._max_age_seconds = max_age_seconds
        self._on_sent = on_sent
        self._on_reconnect = on_reconnect
        self._errors = errors or InternalErrors()
        self._name = secrets.token_hex(8)
        self._logs: dict[tuple[str, FramesMode], OutgoingLog] = {}
        self._log = get_logger()
        self.problem: str | None = f"broker {address}: not connected yet"
        """Why nothing can be sent, or `None` while connected."""
        self.max_kept: int | None = None
        """What live logs are trimmed to because the broker is too small for `max_messages`, or `None` if it is not."""
        self._grown_at = 0.0
        self.policy: str | None = None
        """The broker's `maxmemory-policy`, `noeviction` if its memory is not limited, or `None` if it is unknown."""

    @property
    def evicts(self) -> bool:
        """Whether the broker is allowed to delete logs when it needs room."""
        return self.policy is not None and self.policy.startswith("allkeys-")

    def problems(self) -> list[str]:
        """The reasons why the broker doesn't have all messages that it should have. You can see them in `/readyz`."""
        found = [] if self.problem is None else [self.problem]
        if self.max_kept is not None:
            found.append(f"broker {self._address}: its memory is too small, it keeps {self.max_kept} messages per log")
        if self.evicts:
            found.append(
                f"broker {self._address}: it deletes logs when its memory is full (maxmemory-policy {self.policy});"
                " set noeviction"
            )
        return found

    @property
    def connected(self) -> bool:
        """Whether the broker accepts messages."""
        return self.problem is None

    @property
    def begun(self) -> bool:
        """Whether we have begun to read the logs of all stations.

        If a log was never sent before, it begins with the game that is current at that time.
        """
        logs = self._logs.values()
        return len(logs) >= len(MODES) * len(self._stations()) and all(log.begun for log in logs)

    def lag(self) -> Mapping[str, tuple[float, int]]:
        """How far behind the broker is with each station, in seconds and in bytes of the current game's replay.

        You can read this from any thread.
        """
        lags: dict[str, tuple[float, int]] = {}
        for station, channel in list(self._stations().items()):
            log = self._logs.get((station, "live"))
            missing = 0 if log is None else self._missing_bytes(channel, log)
            lags[station] = (time.monotonic() - log.complete_at, missing) if log is not None and missing else (0.0, 0)
        return lags

    async def run(self) -> None:
        """Send until cancelled."""
        try:
            await keep_connected(self._address, self._session, self._lost)
        finally:
            if self.connected:
                with trio.CancelScope(shield=True), trio.move_on_after(_SIGN_OFF_SECONDS):
                    await self._sign_off()

    def _lost(self, reason: str) -> None:
        if self.connected:
            self._on_reconnect()
        if self.problem is None or not self.problem.endswith(reason):
            self._log.warning("broker lost", broker=str(self._address), what=reason)
        self.problem = f"broker {self._address}: {reason}"

    async def _sign_off(self) -> None:
        with contextlib.suppress(*BROKER_ERRORS, BaseExceptionGroup):
            async with connected(self._address) as client:
                await client.delete([self._keys.ingest(self._name)])

    async def _session(self, client: Client) -> None:
        """Send on one connection until it is lost."""
        await self._read_policy(client)
        while True:
            try:
                await self._send_all(client)
            except BaseExceptionGroup as group:
                shortage, others = group.split(
                    lambda error: self._is_shortage(error)
                )  # Python 3.11 takes no bound methods
                if others is not None:
                    raise
                await self._make_room(client, reason_of(group if shortage is None else shortage))

    def _is_shortage(self, error: BaseException) -> bool:
        """Whether the broker didn't have enough memory for a message, or has deleted other messages to make room."""
        if not isinstance(error, ResponseError):
            return False
        return _REFUSED in str(error) or (self.evicts and (isinstance(error, DataLost) or GONE in str(error)))

    async def _read_policy(self, client: Client) -> None:
        """Find out whether the broker is allowed to delete logs when its memory is full."""
        try:
            info: dict[str, Any] = dict(await client.info("memory"))
        except AuthorizationError:
            self.policy = None
            return
        policy = str(info.get("maxmemory_policy", "")) if int(info.get("maxmemory", 0)) else "noeviction"
        if policy != self.policy and policy.startswith("allkeys-"):
            self._log.warning(
                "broker deletes logs when its memory is full",
                broker=str(self._address),
                policy=policy,
                set="noeviction",
            )
        self.policy = policy

    async def _make_room(self, client: Client, reason: str) -> None:
        """Trim all logs to three quarters of the longest one, and keep them that short from now on.

        If they're already as short as possible, this raises the last error.
        """
        logs = list(self._logs.values())
        async with client.pipeline(transaction=False) as pipeline:
            asked = [pipeline.xlen(log.keys.stream(log.mode)) for log in logs]
        lengths = [await answer for answer in asked]
        longest = max(
            (length if log.mode == "live" else 2 * length for log, length in zip(logs, lengths, strict=True)), default=0
        )
        kept = min(longest if self.max_kept is None else max(longest, self.max_kept), self._max_messages)
        if longest <= _MIN_KEPT_MESSAGES and self.max_kept == _MIN_KEPT_MESSAGES:
            raise ResponseError(f"the broker has no memory for {_MIN_KEPT_MESSAGES} messages per log")
        if self.max_kept is None:
            self._log.warning("broker is too small, keeping fewer messages", broker=str(self._address), what=reason)
        self._keep(max(_MIN_KEPT_MESSAGES, int(kept * _SHRINK)))
        async with client.pipeline(transaction=False) as pipeline:
            for log in logs:
                pipeline.xtrim(log.keys.stream(log.mode), PureToken.MAXLEN, log.kept_messages)

    def _keep(self, messages: int) -> None:
        """From now on, trim live logs to this many messages, and finalized logs to half of that."""
        self.max_kept = messages if messages < self._max_messages else None
        self._grown_at = trio.current_time()
        for log in self._logs.values():
            self._limit(log)

    def _limit(self, log: OutgoingLog) -> None:
        kept = self._max_messages if self.max_kept is None else self.max_kept
        log.kept_messages = min(log.max_messages, kept if log.mode == "live" else kept // 2)

    def _grow(self, now: float) -> None:
        """If the broker had enough room for a while, keep more messages again.

        If it deletes logs, it's better not to try this.
        """
        if self.max_kept is None or self.evicts or now - self._grown_at < _GROW_SECONDS:
            return
        kept = int(self.max_kept * _GROW) + 1
        self._keep(kept)
        if kept >= self._max_messages:
            self._log.info("broker has room again", broker=str(self._address))

    async def _check_keys(
        self, client: Client, stations: Iterable[str], sent: Mapping[tuple[str, str], Mapping[str, Any]]
    ) -> None:
        """Raise `DataLost` if the broker has deleted some of the keys that this session has written."""
        keys = [log.keys.stream(log.mode) for log in self._logs.values() if log.exists]
        keys += [log.keys.turns(log.mode) for log in self._logs.values() if log.has_turns]
        keys += [StationKeys(self._keys.event, name).state for name in stations if (name, "station") in sent]
        keys += [self._keys.stations] if sent else []
        async with client.pipeline(transaction=False) as pipeline:
            asked = [pipeline.exists([key]) for key in keys]
        for key, answer in zip(keys, asked, strict=True):
            if not await answer:
                raise DataLost(f"the broker has deleted {key}")

    async def _send_all(self, client: Client) -> None:
        """Send until the connection is lost, or until the broker has no room or has lost messages.

        All errors are wrapped in a group.
        """
        for log in self._logs.values():
            log.exists = log.has_turns = False
        writer = _Writer(client, self._max_age_seconds, self._confirmed)
        running: dict[str, tuple[Channel, trio.CancelScope]] = {}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.run)
            await self._send_heartbeat(client)
            self.problem = None
            self._log.info("broker connected", broker=str(self._address))
            sent: dict[tuple[str, str], dict[str, Any]] = {}  # status messages by station and type
            heartbeat_at = trim_at = trio.current_time()
            while True:
                now = trio.current_time()
                stations = self._stations()
                for station, (channel, scope) in list(running.items()):
                    if stations.get(station) is not channel:
                        scope.cancel()
                        del running[station]
                        if station not in stations:
                            await self._send_removal(client, station, sent)
                for station, channel in stations.items():
                    if station not in running:
                        running[station] = (channel, trio.CancelScope())
                        nursery.start_soon(self._follow, client, writer, station, *running[station])
                if now >= heartbeat_at:
                    heartbeat_at = now + _HEARTBEAT_SECONDS
                    await self._send_heartbeat(client)
                    self._grow(now)
                    if self.policy is None or self.evicts:
                        await self._check_keys(client, running, sent)
                if now >= trim_at and self._max_age_seconds:
                    trim_at = now + _TRIM_SECONDS
                    await self._trim(client)
                await self._send_statuses(client, stations, sent)
                await trio.sleep(_POLL_SECONDS)

    async def _follow(
        self, client: Client, writer: _Writer, station: str, channel: Channel, scope: trio.CancelScope
    ) -> None:
        structlog.contextvars.bind_contextvars(station=station)
        keys = StationKeys(self._keys.event, station)
        with scope:
            async with trio.open_nursery() as nursery:
                for mode in MODES:
                    max_messages = self._max_messages if mode == "live" else self._max_messages // 2
                    log = self._logs.setdefault((station, mode), OutgoingLog(keys, mode, max_messages))
                    self._limit(log)
                    run = partial(_send_log, client, writer, channel, log)
                    nursery.start_soon(
                        partial(
                            self._errors.keep_running,
                            "broker",
                            run,
                            expected=BROKER_ERRORS,
                            station=station,
                            frames=mode,
                        )
                    )

    def _confirmed(self, batch: QueuedBatch) -> None:
        last = batch.messages[-1]
        log, station = batch.log, batch.log.keys.station
        with self._errors.contain("broker", station=station, frames=log.mode):  # the writer serves all stations
            log.note(last.game_id or "", last.position)
            self._on_sent(station, len(batch.messages))
            channel = self._stations().get(station)
            if channel is not None and not self._missing_bytes(channel, log):
                log.complete_at = time.monotonic()

    def _missing_bytes(self, channel: Channel, log: OutgoingLog) -> int:
        """Return how many bytes of the current game's replay are missing in the broker, or 0 if it has all messages."""
        game = channel.current
        if game is None:
            return 0
        head = game.logs[log.mode].head
        game_id, position = log.confirmed or ("", START)
        if game_id != game.game_id:
            # A game aside can be sent after all messages of the current one.
            aside = any(known.secondary and known.game_id == game_id for known in channel.games)
            return 0 if aside else head.offset + 1
        return 0 if position >= head else max(1, head.offset - position.offset)

    async def _send_heartbeat(self, client: Client) -> None:
        await client.set(self._keys.ingest(self._name), b"1", ex=_ALIVE_SECONDS)

    async def _send_statuses(
        self, client: Client, stations: Mapping[str, Channel], sent: dict[tuple[str, str], dict[str, Any]]
    ) -> None:
        """Send all states and sets that have changed.

        They go to the hash of their station and to the stream of statuses.
        """
        changed: list[dict[str, Any]] = []
        for station, channel in stations.items():
            for message in (channel.state_message(), channel.set_message()):
                if message is not None and sent.get((station, message["type"])) != message:
                    sent[station, message["type"]] = message
                    changed.append(message)
        if not changed:
            return
        async with client.pipeline(transaction=False) as pipeline:
            for message in changed:
                station, text = message["station"], _encode(message)
                pipeline.hset(self._keys.stations, {station: _encode({"ingest": self._name})})
                pipeline.hset(StationKeys(self._keys.event, station).state, {message["type"]: text})
                self._announce(pipeline, text)

    async def _send_removal(self, client: Client, station: str, sent: dict[tuple[str, str], dict[str, Any]]) -> None:
        """Announce that a station was removed. Its messages stay until they are trimmed."""
        for key in [key for key in sent if key[0] == station]:
            del sent[key]
        text = _encode({"type": "station", "station": station, "state": "offline", "reason": "the station was removed"})
        async with client.pipeline(transaction=False) as pipeline:
            pipeline.hdel(self._keys.stations, [station])
            pipeline.hset(StationKeys(self._keys.event, station).state, {"station": text})
            self._announce(pipeline, text)

    def _announce(self, pipeline: Any, text: bytes) -> None:
        pipeline.xadd(
            self._keys.status,
            {FIELD: text},
            trim_strategy=PureToken.MAXLEN,
            trim_operator=PureToken.APPROXIMATELY,
            threshold=_KEPT_STATUSES,
        )

    async def _trim(self, client: Client) -> None:
        """Apply the age limit to all logs. We also have to do this for logs that don't get any messages."""
        async with client.pipeline(transaction=False) as pipeline:
            for log in self._logs.values():
                min_ordinal = log.min_ordinal(self._max_age_seconds)
                if min_ordinal:
                    pipeline.eval(APPEND, [log.keys.stream(log.mode)], [log.kept_messages, min_ordinal])


async def _send_log(client: Client, writer: _Writer, channel: Channel, log: OutgoingLog) -> None:
    """Send those messages of one log that the broker doesn't have yet, until cancelled."""
    await writer.emptied(log)  # of what was queued before this was started again
    ordinal, offsets = await _begin(client, log)
    turn = Turn(ordinal, "", START)
    positions = {offset.cursor.game_id: offset.cursor.position or START for offset in offsets}
    taken, taken_at = 0, -MIN_TURN_SECONDS
    async for batch in LogConsumer(channel, frames=log.mode, offsets=offsets):
        if batch.gone is not None:
            get_logger().warning(
                "broker misses the rest of a game", game_id=batch.game_id, frames=log.mode, what=batch.gone
            )
        if not batch.messages:
            continue
        aside = turn.aside
        if turn.game_id != batch.game_id or aside:
            aside = _is_aside(channel, log, batch.game_id)
        if turn.game_id != batch.game_id or turn.aside != aside:
            if turn.game_id:
                await trio.sleep_until(taken_at + MIN_TURN_SECONDS)
                await writer.emptied(log)
                turn = Turn((await _take_turn(client, log, turn.ordinal))[0], "", START)
            taken_at = trio.current_time()
            position = positions.get(batch.game_id) or _position_before(batch.messages[0])
            if batch.game_id in log.aside and not aside:
                await _send_late_joiner_messages(client, channel, log, batch.game_id)
            turn = Turn(turn.ordinal, batch.game_id, position, aside)
            await _record_turn(client, log, turn)
            taken += 1
            if taken % _TURNS_PER_PRUNING == 0:
                await _prune_turns(client, log, parse_turns(await client.hgetall(log.keys.turns(log.mode))))
        await writer.put(log, turn, batch.messages)
        positions.pop(batch.game_id, None)
        positions[batch.game_id] = batch.messages[-1].position
        while len(positions) > _KNOWN_GAMES:
            del positions[next(iter(positions))]


def _game_of(channel: Channel, game_id: str) -> Game | None:
    return next((game for game in reversed(channel.games) if game.game_id == game_id), None)


def _is_aside(channel: Channel, log: OutgoingLog, game_id: str) -> bool:
    """Whether gateways should not turn to a game, because another one is being played.

    If a game was over before this process started, and there is a current game, then it can't be the one that is
    played. If the beginning of a game was already marked as secondary, so is the rest of it.
    """
    game = _game_of(channel, game_id)
    if game is None:
        return game_id in log.aside
    return game.secondary or (game.archived and (channel.current is not None or game_id in log.aside))


async def _send_late_joiner_messages(client: Client, channel: Channel, log: OutgoingLog, game_id: str) -> None:
    """When the station turns to a game, send everything about it that late joiners need.

    This wasn't sent as long as the game was secondary.
    """
    game = _game_of(channel, game_id)
    if log.mode == "live" and game is not None and game.start is not None:
        messages = [message for message in (game.start, game.newest_stats) if message is not None]
        await client.hset(log.keys.state, {message.type: message.json(log.keys.station) for message in messages})


async def _begin(client: Client, log: OutgoingLog) -> tuple[int, list[ConsumerOffset]]:
    """Take a turn, which stops all earlier sessions, and find out how far the broker has come.

    Returns the ordinal of the turn, and an offset for each game, beginning with the oldest game.
    """
    stream, turns_key = log.keys.stream(log.mode), log.keys.turns(log.mode)
    ordinal, existed = await _take_turn(client, log)
    turns = parse_turns(await client.hgetall(turns_key))
    if not existed and turns:  # the broker has deleted the stream, so the records are of messages that it has lost
        await client.delete([turns_key])
        for game_id in by_game(turns):
            log.games.setdefault(game_id, None)
        turns = []
    log.exists, log.has_turns = True, bool(turns)
    turns = await _with_unrecorded(client, log, turns)
    turns = await _prune_turns(client, log, turns)
    turns_by_game = by_game(turns)
    log.aside = {game_id for game_id, turns_of_game in turns_by_game.items() if turns_of_game[-1].aside}
    games = list(turns_by_game.items())[-_KNOWN_GAMES:]
    requests: list[Any] = []
    async with client.pipeline(transaction=False) as pipeline:
        for _, turns_of_game in games:
            first, last = ids_of_turn(turns_of_game[-1].ordinal)
            requests.append(pipeline.xrevrange(stream, last, first, count=1))
    offsets: list[ConsumerOffset] = []
    for (game_id, turns_of_game), request in zip(games, requests, strict=True):
        position, over = turns_of_game[-1].after, False
        for entry in entries_of(await request):
            position, over = unpack(entry.position), _type_of(entry.line) == "metadata"
        offsets.append(ConsumerOffset(Cursor(game_id, log.mode, position), over))
    known = {game_id for game_id, _ in games}
    offsets += [ConsumerOffset(Cursor(game_id, log.mode, START)) for game_id in log.games if game_id not in known]
    log.ordinals = [turn.ordinal for turn in turns] + [ordinal]
    log.confirmed = None if not offsets else (offsets[-1].cursor.game_id, offsets[-1].cursor.position or START)
    log.begun = True
    return ordinal, offsets


async def _take_turn(client: Client, log: OutgoingLog, newest: int = 0) -> tuple[int, bool]:
    """Take a turn. Returns its ordinal, and whether the stream existed before.

    If the newest turn isn't `newest`, this fails, unless you pass 0.
    """
    answer: Any = await client.eval(TAKE_TURN, [log.keys.stream(log.mode)], [newest])
    ordinal = int(answer[0])
    log.ordinals = [*log.ordinals[-63:], ordinal]
    log.newest_id = b"%d-0" % ordinal
    return ordinal, bool(answer[1])


async def _record_turn(client: Client, log: OutgoingLog, turn: Turn) -> None:
    """Make a record of the given turn.

    We have to do this before we send its first message, so that each message has a turn with a record.
    """
    fields = {str(turn.ordinal): turn_record(turn.game_id, log.mode, turn.after)}
    log.aside.discard(turn.game_id)
    if turn.aside:
        fields[aside_field(turn.ordinal)] = "1"
        log.aside.add(turn.game_id)
    await client.hset(log.keys.turns(log.mode), fields)
    log.has_turns = True


async def _prune_turns(client: Client, log: OutgoingLog, turns: list[Turn]) -> list[Turn]:
    """Delete the records of all turns that `turns_to_forget` selects. Returns those turns that are left."""
    oldest = entries_of(await client.xrange(log.keys.stream(log.mode), count=1))
    forgotten = turns_to_forget(turns, oldest[0].ordinal if oldest else turns[-1].ordinal) if turns else []
    if forgotten:
        fields = [field for ordinal in forgotten for field in (str(ordinal), aside_field(ordinal))]
        await client.hdel(log.keys.turns(log.mode), fields)
    return [turn for turn in turns if turn.ordinal not in forgotten]


async def _with_unrecorded(client: Client, log: OutgoingLog, turns: list[Turn]) -> list[Turn]:
    """If the record of the newest turn is missing, write it again and add the turn.

    This can happen in a cluster, because the hash is on another node than the stream, and just this node might lose its
    last second. We can derive the turn from its messages.
    """
    stream = log.keys.stream(log.mode)
    newest = entries_of(await client.xrevrange(stream, count=1))
    if not newest or any(turn.ordinal == newest[0].ordinal for turn in turns):
        return turns
    ordinal = newest[0].ordinal
    first = entries_of(await client.xrange(stream, *ids_of_turn(ordinal), count=1))
    try:
        message = parse_line(first[0].line)
    except (IndexError, ProtocolViolation):
        return turns
    turn = Turn(ordinal, message.game_id or "", _position_before(message))
    await _record_turn(client, log, turn)
    return sorted([*turns, turn])


def _position_before(message: LogMessage) -> Position:
    """Return the position that comes before a message, if we don't know the message before it."""
    return START if message.type == "game_start" else message.position.before


def _type_of(line: bytes) -> str:
    try:
        return parse_line(line).type
    except ProtocolViolation:
        return ""


class _Writer:
    """Sends the messages of all logs over one connection.

    For each log, they are sent in the order in which you `put` them.
    """

    def __init__(self, client: Client, max_age_seconds: float, confirmed: Callable[[QueuedBatch], None]) -> None:
        self._client = client
        self._max_age_seconds = max_age_seconds
        self._confirmed = confirmed
        self._queue: list[QueuedBatch] = []
        self._unconfirmed_bytes = 0
        self._unconfirmed_batches: dict[OutgoingLog, int] = {}
        self._work = trio.Event()
        self._room = trio.Event()

    async def put(self, log: OutgoingLog, turn: Turn, messages: Sequence[LogMessage]) -> None:
        """Wait until there's enough room, and then queue messages of one turn."""
        station = log.keys.station
        for part in _parts(messages):
            while self._unconfirmed_bytes >= _MAX_QUEUED_BYTES:
                await self._room.wait()
            lines = [message.json(station) for message in part]
            late = log.mode == "live" and not turn.aside
            batch = QueuedBatch(log, turn.ordinal, part, lines, sum(map(len, lines)), log.newest_id, late)
            log.newest_id = entry_id(turn.ordinal, part[-1].position)
            self._queue.append(batch)
            self._unconfirmed_bytes += batch.size_bytes
            self._unconfirmed_batches[log] = self._unconfirmed_batches.get(log, 0) + 1
            self._work.set()
        await trio.lowlevel.checkpoint()

    async def emptied(self, log: OutgoingLog) -> None:
        """Wait until the broker has accepted all messages of a log that were queued."""
        while self._unconfirmed_batches.get(log):
            await self._room.wait()

    async def run(self) -> None:
        """Send until the connection is lost."""
        while True:
            if not self._queue:
                self._work = trio.Event()
                await self._work.wait()
            batches = self._next()
            await self._send(batches)
            for batch in batches:
                self._unconfirmed_bytes -= batch.size_bytes
                self._unconfirmed_batches[batch.log] -= 1
                self._confirmed(batch)
            room, self._room = self._room, trio.Event()
            room.set()

    def _next(self) -> list[QueuedBatch]:
        """Take as many batches off the queue as should be sent with one pipeline."""
        size = count = 0
        while count < len(self._queue) and (not count or size + self._queue[count].size_bytes <= _MAX_PIPELINE_BYTES):
            size += self._queue[count].size_bytes
            count += 1
        batches, self._queue = self._queue[:count], self._queue[count:]
        return batches

    async def _send(self, batches: Iterable[QueuedBatch]) -> None:
        async with self._client.pipeline(transaction=False) as pipeline:
            for batch in batches:
                log, ordinal = batch.log, batch.ordinal
                arguments: list[bytes | int] = [log.kept_messages, log.min_ordinal(self._max_age_seconds), batch.after]
                newest: dict[str, bytes] = {}
                for message, line in zip(batch.messages, batch.lines, strict=True):
                    arguments.append(entry_id(ordinal, message.position))
                    arguments.append(line)
                    if message.type in _LATE_JOINER_TYPES and batch.for_late_joiners:
                        newest[message.type] = line
                if newest:  # before the messages, so that a late joiner who finds a game there reads all that follow
                    pipeline.hset(log.keys.state, newest)
                pipeline.eval(APPEND, [log.keys.stream(log.mode)], arguments)


def _parts(messages: Sequence[LogMessage]) -> Iterable[Sequence[LogMessage]]:
    """Divide messages into parts that are small enough not to block the broker for a long time."""
    begin = size = 0
    for index, message in enumerate(messages):
        if size > _MAX_CALL_BYTES:
            yield messages[begin:index]
            begin, size = index, 0
        size += len(message.body)
    yield messages[begin:]
