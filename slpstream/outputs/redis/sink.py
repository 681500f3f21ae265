"""Every station's log into Redis Streams, each message exactly once, whatever dies in between.

How it lies there is said in `redis_streams`. Here is why nothing is lost and nothing doubled:

- What was sent is known by the broker alone. A session begins with a turn for each log, which ends whatever of former
  sessions is still on its way, and then asks for the last message of each game. From there a tap reads on, out of the
  rings or out of the replay files. Nothing about progress is kept here, so a session can end at any moment: with the
  connection, with the process, with a broker that restarts without its last second or without anything at all.
- Messages of one log go in order over one connection, and a call to the broker is done whole or not at all. So what
  the broker has of a game has no gaps, and its last message says it all.
- A broker that has lost games altogether is told them again, those that this process has sent.

While the broker is away no tap runs and nothing waits: the daemon goes on reading, and what is missing is read from the
files afterwards. While it is slow, at most `_WAITING_BYTES` wait for it; the taps stand still.

All logs share one writer: while a call is on its way, what comes meanwhile is put together for the next one. So the
calls are small when little happens, and large when much does.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import structlog
import trio
from coredis.tokens import PureToken

from slpstream.model.errors import ProtocolViolation
from slpstream.model.messages import START, Cursor, FramesMode, LogMessage, Position, parse_line
from slpstream.outputs.redis.connection import BROKER_ERRORS, Address, Client, connected, entries_of, keep_connected
from slpstream.outputs.redis.streams import (
    APPEND,
    FIELD,
    MODES,
    TAKE_TURN,
    EventKeys,
    StationKeys,
    Turn,
    by_game,
    entry_id,
    ids_of_turn,
    just_before,
    parse_turns,
    superfluous,
    turn_record,
    unpack,
)
from slpstream.stream import Channel, ConsumedBatch, ConsumerOffset, LogConsumer
from slpstream.system.logs import get_logger

ALIVE_SECONDS = 6
"""So long after its last sign of life an ingest is taken for dead."""

_SIGN_OF_LIFE_SECONDS = 2.0
_LOOK_SECONDS = 0.1
"""How often states are compared with what was told."""
_TRIM_SECONDS = 60.0
_FAREWELL_SECONDS = 1.0
_WAITING_BYTES = 2 << 20
_CALL_BYTES = 256 * 1024
_PIPELINE_BYTES = 1 << 20
_KNOWN_GAMES = 64
"""Games that are asked for at the beginning of a session."""
_REMEMBERED_GAMES = 16
_MIN_TURN_SECONDS = 0.25
"""Games that alternate change places no more often."""
_TURNS_BETWEEN_LOOKS = 256
_KEPT_STATUSES = 1000
_OF_LATE_JOINERS = ("game_start", "stats")

_encode = msgspec.json.Encoder().encode


class Log:
    """One log as this process knows it: what outlives a session."""

    def __init__(self, keys: StationKeys, mode: FramesMode, max_messages: int) -> None:
        self.keys = keys
        self.mode = mode
        self.max_messages = max_messages
        self.games: dict[str, None] = {}
        """The newest games of which something was sent, oldest first."""
        self.confirmed: tuple[str, Position] | None = None
        """The last message that the broker has taken."""
        self.level_at = time.monotonic()
        """When nothing was missing in the broker for the last time."""
        self.sent_at = time.time()
        self.begun = False
        """It is known where the broker is."""
        self.ordinals: list[int] = []
        """The turns of the stream, oldest first."""

    def note(self, game_id: str, place: Position) -> None:
        """Something has been sent."""
        self.sent_at = time.time()
        self.confirmed = (game_id, place)
        self.games.pop(game_id, None)
        self.games[game_id] = None
        while len(self.games) > _REMEMBERED_GAMES:
            del self.games[next(iter(self.games))]

    def oldest_wanted(self, max_age_seconds: float) -> int:
        """The oldest turn that is kept; 0: any. A turn is too old when the one behind it is, or when nothing has come
        for as long."""
        if not max_age_seconds or not self.ordinals:
            return 0
        before_ms = (time.time() - max_age_seconds) * 1000
        if self.sent_at * 1000 < before_ms:
            return self.ordinals[-1] + 1
        return max((ordinal for ordinal in self.ordinals if ordinal <= before_ms), default=0)


class Load(NamedTuple):
    """Messages of one turn, on their way."""

    log: Log
    ordinal: int
    messages: Sequence[LogMessage]
    lines: Sequence[bytes]
    size_bytes: int


class RedisSink:
    """All stations of one daemon. `run` it once, until it is cancelled."""

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
    ) -> None:
        """`stations` is asked again and again: they come and go. `max_messages` is for live logs; a finalized one has
        half as many for the same time. `on_sent` is told a station and how many messages."""
        self._address = address
        self._keys = EventKeys(event)
        self._stations = stations
        self._max_messages = max_messages
        self._max_age_seconds = max_age_seconds
        self._on_sent = on_sent
        self._on_reconnect = on_reconnect
        self._name = secrets.token_hex(8)
        self._logs: dict[tuple[str, FramesMode], Log] = {}
        self._log = get_logger()
        self.problem: str | None = f"broker {address}: not connected yet"
        """Why nothing is sent; `None` when all is well."""

    @property
    def connected(self) -> bool:
        """The broker takes what is sent."""
        return self.problem is None

    def lag(self) -> Mapping[str, tuple[float, int]]:
        """By station: for how many seconds, and by how many bytes of the current game's replay, the broker has been
        behind. May be asked from any thread."""
        lags: dict[str, tuple[float, int]] = {}
        for station, source in list(self._stations().items()):
            log = self._logs.get((station, "live"))
            missing = 0 if log is None else self._missing_bytes(source, log)
            lags[station] = (time.monotonic() - log.level_at, missing) if log is not None and missing else (0.0, 0)
        return lags

    async def run(self) -> None:
        """Sends until cancelled."""
        try:
            await keep_connected(self._address, self._session, self._lost)
        finally:
            if self.connected:
                with trio.CancelScope(shield=True), trio.move_on_after(_FAREWELL_SECONDS):
                    await self._say_farewell()

    def _lost(self, reason: str) -> None:
        if self.connected:
            self._on_reconnect()
        if self.problem is None or not self.problem.endswith(reason):
            self._log.warning("broker lost", broker=str(self._address), what=reason)
        self.problem = f"broker {self._address}: {reason}"

    async def _say_farewell(self) -> None:
        with contextlib.suppress(*BROKER_ERRORS, BaseExceptionGroup):
            async with connected(self._address) as client:
                await client.delete([self._keys.ingest(self._name)])

    # -- a session ---------------------------------------------------------------------------------------------------

    async def _session(self, client: Client) -> None:
        writer = _Writer(client, self._max_age_seconds, self._confirmed)
        running: dict[str, tuple[Channel, trio.CancelScope]] = {}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.run)
            await self._sign_of_life(client)
            self.problem = None
            self._log.info("broker connected", broker=str(self._address))
            told: dict[tuple[str, str], dict[str, Any]] = {}
            sign_at = trim_at = trio.current_time()
            while True:
                now = trio.current_time()
                stations = self._stations()
                for station, (source, scope) in list(running.items()):
                    if stations.get(station) is not source:
                        scope.cancel()
                        del running[station]
                        if station not in stations:
                            await self._forget(client, station, told)
                for station, source in stations.items():
                    if station not in running:
                        running[station] = (source, trio.CancelScope())
                        nursery.start_soon(self._follow, client, writer, station, *running[station])
                if now >= sign_at:
                    sign_at = now + _SIGN_OF_LIFE_SECONDS
                    await self._sign_of_life(client)
                if now >= trim_at and self._max_age_seconds:
                    trim_at = now + _TRIM_SECONDS
                    await self._trim(client)
                await self._tell(client, stations, told)
                await trio.sleep(_LOOK_SECONDS)

    async def _follow(
        self, client: Client, writer: _Writer, station: str, source: Channel, scope: trio.CancelScope
    ) -> None:
        structlog.contextvars.bind_contextvars(station=station)
        keys = StationKeys(self._keys.event, station)
        with scope:
            async with trio.open_nursery() as nursery:
                for mode in MODES:
                    most = self._max_messages if mode == "live" else self._max_messages // 2
                    log = self._logs.setdefault((station, mode), Log(keys, mode, most))
                    nursery.start_soon(_send_log, client, writer, source, log)

    def _confirmed(self, load: Load) -> None:
        last = load.messages[-1]
        log, station = load.log, load.log.keys.station
        log.note(last.game_id or "", last.position)
        self._on_sent(station, len(load.messages))
        source = self._stations().get(station)
        if source is not None and not self._missing_bytes(source, log):
            log.level_at = time.monotonic()

    def _missing_bytes(self, source: Channel, log: Log) -> int:
        """Of the replay of the current game."""
        game = source.current
        if game is None:
            return 0
        head = game.logs[log.mode].head
        known, place = log.confirmed or ("", START)
        if known != game.game_id:
            return head.offset + 1
        return 0 if place >= head else max(1, head.offset - place.offset)

    # -- what is not a log -------------------------------------------------------------------------------------------

    async def _sign_of_life(self, client: Client) -> None:
        await client.set(self._keys.ingest(self._name), b"1", ex=ALIVE_SECONDS)

    async def _tell(
        self, client: Client, stations: Mapping[str, Channel], told: dict[tuple[str, str], dict[str, Any]]
    ) -> None:
        """The states that have changed: into the hash of each station, and to those who listen."""
        news: list[dict[str, Any]] = []
        for station, source in stations.items():
            for message in (source.state_message(), source.set_message()):
                if message is not None and told.get((station, message["type"])) != message:
                    told[station, message["type"]] = message
                    news.append(message)
        if not news:
            return
        async with client.pipeline(transaction=False) as pipeline:
            for message in news:
                station, text = message["station"], _encode(message)
                pipeline.hset(self._keys.stations, {station: _encode({"ingest": self._name})})
                pipeline.hset(StationKeys(self._keys.event, station).state, {message["type"]: text})
                self._announce(pipeline, text)

    async def _forget(self, client: Client, station: str, told: dict[tuple[str, str], dict[str, Any]]) -> None:
        """A station is there no more. What it has played stays until it is trimmed."""
        for key in [key for key in told if key[0] == station]:
            del told[key]
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
        """Logs to which nothing comes grow old too."""
        async with client.pipeline(transaction=False) as pipeline:
            for log in self._logs.values():
                oldest = log.oldest_wanted(self._max_age_seconds)
                if oldest:
                    pipeline.eval(APPEND, [log.keys.stream(log.mode)], [log.max_messages, oldest])


# -- one log -----------------------------------------------------------------------------------------------------------


async def _send_log(client: Client, writer: _Writer, source: Channel, log: Log) -> None:
    """Begins where the broker is, and sends what follows."""
    ordinal, marks = await begin(client, log)
    log.begun = True
    turn = Turn(ordinal, "", START)
    places = {mark.cursor.game_id: mark.cursor.position or START for mark in marks}
    taken, taken_at = 0, -_MIN_TURN_SECONDS
    async for batch in LogConsumer(source, frames=log.mode, offsets=marks):
        if batch.gone is not None:
            _say_gone(batch, log.mode)
        if not batch.messages:
            continue
        if turn.game_id != batch.game_id:
            if turn.game_id:
                await trio.sleep_until(taken_at + _MIN_TURN_SECONDS)
                await writer.emptied(log)
                turn = Turn(await _take_turn(client, log, turn.ordinal), "", START)
            taken_at = trio.current_time()
            turn = Turn(turn.ordinal, batch.game_id, places.get(batch.game_id) or _behind(batch.messages[0]))
            await _record(client, log, turn)
            taken += 1
            if taken % _TURNS_BETWEEN_LOOKS == 0:
                await _without_superfluous(client, log, parse_turns(await client.hgetall(log.keys.turns(log.mode))))
        await writer.put(log, turn.ordinal, batch.messages)
        places.pop(batch.game_id, None)
        places[batch.game_id] = batch.messages[-1].position
        while len(places) > _KNOWN_GAMES:
            del places[next(iter(places))]


async def begin(client: Client, log: Log) -> tuple[int, list[ConsumerOffset]]:
    """Ends what is still on its way to a log, and asks how far it has come: the ordinal of a turn that was taken, and a
    bookmark for each game, oldest first."""
    stream, turns_key = log.keys.stream(log.mode), log.keys.turns(log.mode)
    ordinal = await _take_turn(client, log)
    turns = parse_turns(await client.hgetall(turns_key))
    turns = await _with_unrecorded(client, log, turns)
    turns = await _without_superfluous(client, log, turns)
    games = list(by_game(turns).items())[-_KNOWN_GAMES:]
    found: list[Any] = []
    async with client.pipeline(transaction=False) as pipeline:
        for _, of_game in games:
            first, last = ids_of_turn(of_game[-1].ordinal)
            found.append(pipeline.xrevrange(stream, last, first, count=1))
    marks: list[ConsumerOffset] = []
    for (game_id, of_game), request in zip(games, found, strict=True):
        place, over = of_game[-1].behind, False
        for entry in entries_of(await request):
            place, over = unpack(entry.place), _type_of(entry.line) == "metadata"
        marks.append(ConsumerOffset(Cursor(game_id, log.mode, place), over))
    known = {game_id for game_id, _ in games}
    marks += [ConsumerOffset(Cursor(game_id, log.mode, START)) for game_id in log.games if game_id not in known]
    log.ordinals = [turn.ordinal for turn in turns] + [ordinal]
    log.confirmed = None if not marks else (marks[-1].cursor.game_id, marks[-1].cursor.position or START)
    return ordinal, marks


async def _take_turn(client: Client, log: Log, after: int = 0) -> int:
    answer: Any = await client.eval(TAKE_TURN, [log.keys.stream(log.mode)], [after])
    log.ordinals = [*log.ordinals[-63:], int(answer)]
    return int(answer)


async def _record(client: Client, log: Log, turn: Turn) -> None:
    """Said before the first message of the turn: who finds a message finds its turn."""
    record = turn_record(turn.game_id, log.mode, turn.behind)
    await client.hset(log.keys.turns(log.mode), {str(turn.ordinal): record})


async def _without_superfluous(client: Client, log: Log, turns: list[Turn]) -> list[Turn]:
    """Forgets the turns whose messages are trimmed, but for the newest of each game."""
    oldest = entries_of(await client.xrange(log.keys.stream(log.mode), count=1))
    gone = superfluous(turns, oldest[0].ordinal if oldest else turns[-1].ordinal) if turns else []
    if gone:
        await client.hdel(log.keys.turns(log.mode), [str(ordinal) for ordinal in gone])
    return [turn for turn in turns if turn.ordinal not in gone]


async def _with_unrecorded(client: Client, log: Log, turns: list[Turn]) -> list[Turn]:
    """A cluster keeps the hash on another node than the stream, and that one can lose its last second alone: the newest
    turn is then known by its messages."""
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
    turn = Turn(ordinal, message.game_id or "", _behind(message))
    await _record(client, log, turn)
    return sorted([*turns, turn])


def _behind(message: LogMessage) -> Position:
    """Behind which place a message comes, when nothing more is known."""
    return START if message.type == "game_start" else just_before(message.position)


def _say_gone(batch: ConsumedBatch, mode: FramesMode) -> None:
    get_logger().warning("messages that the broker will not get", game_id=batch.game_id, frames=mode, what=batch.gone)


def _type_of(line: bytes) -> str:
    try:
        return parse_line(line).type
    except ProtocolViolation:
        return ""


# -- the writer --------------------------------------------------------------------------------------------------------


class _Writer:
    """What all logs send, put together. Within one log the order is that of `put`."""

    def __init__(self, client: Client, max_age_seconds: float, confirmed: Callable[[Load], None]) -> None:
        self._client = client
        self._max_age_seconds = max_age_seconds
        self._confirmed = confirmed
        self._waiting: list[Load] = []
        self._waiting_bytes = 0
        self._under_way: dict[Log, int] = {}
        """Loads of each log that the broker has not taken yet."""
        self._work = trio.Event()
        self._room = trio.Event()

    async def put(self, log: Log, ordinal: int, messages: Sequence[LogMessage]) -> None:
        """Takes messages of one turn; waits while too much waits already."""
        station = log.keys.station
        for part in _parts(messages):
            while self._waiting_bytes >= _WAITING_BYTES:
                await self._room.wait()
            lines = [message.json(station) for message in part]
            load = Load(log, ordinal, part, lines, sum(map(len, lines)))
            self._waiting.append(load)
            self._waiting_bytes += load.size_bytes
            self._under_way[log] = self._under_way.get(log, 0) + 1
            self._work.set()
        await trio.lowlevel.checkpoint()

    async def emptied(self, log: Log) -> None:
        """Returns when the broker has everything of a log."""
        while self._under_way.get(log):
            await self._room.wait()

    async def run(self) -> None:
        """Sends until the connection is lost."""
        while True:
            if not self._waiting:
                self._work = trio.Event()
                await self._work.wait()
            loads = self._next()
            await self._send(loads)
            for load in loads:
                self._waiting_bytes -= load.size_bytes
                self._under_way[load.log] -= 1
                self._confirmed(load)
            room, self._room = self._room, trio.Event()
            room.set()

    def _next(self) -> list[Load]:
        size = count = 0
        while count < len(self._waiting) and (not count or size + self._waiting[count].size_bytes <= _PIPELINE_BYTES):
            size += self._waiting[count].size_bytes
            count += 1
        loads, self._waiting = self._waiting[:count], self._waiting[count:]
        return loads

    async def _send(self, loads: Iterable[Load]) -> None:
        async with self._client.pipeline(transaction=False) as pipeline:
            for load in loads:
                log, ordinal = load.log, load.ordinal
                arguments: list[bytes | int] = [log.max_messages, log.oldest_wanted(self._max_age_seconds)]
                newest: dict[str, bytes] = {}
                for message, line in zip(load.messages, load.lines, strict=True):
                    arguments.append(entry_id(ordinal, message.position))
                    arguments.append(line)
                    if message.type in _OF_LATE_JOINERS and log.mode == "live":
                        newest[message.type] = line
                if newest:  # before the messages: a late joiner that finds a game there reads what comes of it
                    pipeline.hset(log.keys.state, newest)
                pipeline.eval(APPEND, [log.keys.stream(log.mode)], arguments)


def _parts(messages: Sequence[LogMessage]) -> Iterable[Sequence[LogMessage]]:
    """In pieces that do not hold the broker up."""
    begin = size = 0
    for index, message in enumerate(messages):
        if size > _CALL_BYTES:
            yield messages[begin:index]
            begin, size = index, 0
        size += len(message.body)
    yield messages[begin:]
