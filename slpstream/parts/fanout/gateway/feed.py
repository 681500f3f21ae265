"""Read from the broker. To do this, we make a few blocking calls that wait for new entries of many streams, and look at
the list of stations from time to time.

Each call waits for up to `_STREAMS_PER_CALL` streams. In a cluster, it is just one, because the streams are on
different nodes. If a call hasn't found much, there's a pause in which entries can collect. Otherwise, many stations
with sixty frames per second would mean a call for each frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import trio

from slpstream.model.messages import FramesMode
from slpstream.parts.fanout.connection import BROKER_ERRORS, Address, Client, entries_of, keep_connected
from slpstream.parts.fanout.gateway.broker import Broker
from slpstream.parts.fanout.gateway.lines import object_in
from slpstream.parts.fanout.gateway.station import GatewayStation
from slpstream.parts.fanout.streams import MODES, EventKeys, StationKeys
from slpstream.stream.channel import Hub
from slpstream.system.backoff import backoff_seconds
from slpstream.system.internal_errors import Containment, InternalErrors
from slpstream.system.logs import get_logger

_STREAMS_PER_CALL = 128
_MAX_ENTRIES = 4096
"""Maximum number of entries per call, of all its streams together."""
_MIN_PER_STREAM = 32
_MAX_PER_STREAM = 256
_WAIT_MILLISECONDS = 1000
_PAUSE_SECONDS = 0.004
LOOK_SECONDS = 2.0
FIRST_PAUSE_SECONDS = 1.0

Log = tuple[GatewayStation, FramesMode]


class _Failure(NamedTuple):
    """A station that can't be opened because of a bug. This remembers when to try it again."""

    error_id: str
    failures: int
    retry_at: float


class Feed:
    """The stations of an event, which are kept up to date from the broker.

    You should call `run` in exactly one task. If a bug has ended it, call it again.
    """

    def __init__(
        self,
        address: Address,
        event: str,
        hub: Hub,
        *,
        ring_bytes: int,
        on_received: Callable[[int], None],
        on_reconnect: Callable[[], None],
        errors: InternalErrors | None = None,
    ) -> None:
        self._address = address
        self._errors = errors or InternalErrors()
        self._keys = EventKeys(event)
        self._hub = hub
        self._ring_bytes = ring_bytes
        self._on_received = on_received
        self._on_reconnect = on_reconnect
        self._broker = Broker()
        self._looking = trio.Lock()
        self._log = get_logger()
        self.stations: dict[str, GatewayStation] = {}
        self._failed: dict[str, _Failure] = {}
        self.problem: str | None = f"broker {address}: not connected yet"
        """Why nothing arrives, or `None` while everything works."""

    @property
    def connected(self) -> bool:
        """Whether the broker answers, and we know which stations it has."""
        return self.problem is None

    def failed(self) -> list[str]:
        """Return those stations that couldn't be opened, each with the reason."""
        return [
            f"station {name}: internal error {failure.error_id}, opened again" for name, failure in self._failed.items()
        ]

    async def run(self) -> None:
        """Read until cancelled. If the connection is lost, this connects again as often as needed."""
        await keep_connected(self._address, self._session, self._lost)

    def _lost(self, reason: str) -> None:
        if self.connected:
            self._on_reconnect()
        if self.problem is None or not self.problem.endswith(reason):
            self._log.warning("broker lost", broker=str(self._address), what=reason)
        self.problem = f"broker {self._address}: {reason}"

    async def _session(self, client: Client) -> None:
        """Read on one connection until it is lost."""
        async with self._broker.using(client), trio.open_nursery() as nursery:
            newest = entries_of(await client.xrevrange(self._keys.status, count=1))
            status_at = newest[0].id if newest else b"0-0"
            for station in list(self.stations.values()):
                with self._contain(station.id):
                    for mode in MODES:
                        await station.check_trimmed(mode)
                    await self._read_state(client, station)
            readers = _Readers(nursery, client, self._address.cluster, self._on_received, self._errors)
            for station in self.stations.values():
                readers.add(station)
            await self._look(client, readers)
            nursery.start_soon(self._listen, client, status_at, readers)
            self.problem = None
            self._log.info("broker connected", broker=str(self._address), stations=len(self.stations))
            while True:
                await trio.sleep(LOOK_SECONDS)
                await self._look(client, readers)

    async def _look(self, client: Client, readers: _Readers) -> None:
        """Find new stations, and check which of the ingests are alive."""
        async with self._looking:  # two looks at once could add a station twice
            found = await client.hgetall(self._keys.stations)
            announced = {name.decode(errors="replace"): object_in(text) for name, text in found.items()}
            self._failed = {name: failure for name, failure in self._failed.items() if name in announced}
            for name, about in announced.items():
                known = await self._station(name, readers)
                if known is not None:
                    known.ingest = str(about.get("ingest", ""))
            ingests = sorted({station.ingest for station in self.stations.values()})
            async with client.pipeline(transaction=False) as pipeline:
                asked = [pipeline.exists([self._keys.ingest(ingest)]) for ingest in ingests]
            alive = {ingest: bool(await answer) for ingest, answer in zip(ingests, asked, strict=True)}
            for station in self.stations.values():
                with self._contain(station.id):
                    station.set_alive(alive[station.ingest])

    def _contain(self, station: str) -> Containment:
        return self._errors.contain("station", expected=BROKER_ERRORS, station=station)

    async def _station(self, name: str, readers: _Readers) -> GatewayStation | None:
        """Return the station with the given name. If it is new, it is added. If it can't be opened because of a bug,
        this returns `None`.

        In that case, we try it again after a pause. The pause takes 1, 2, 4 seconds and so on, up to a minute.
        """
        station = self.stations.get(name)
        if station is not None:
            return station
        failure = self._failed.get(name)
        if failure is not None and trio.current_time() < failure.retry_at:
            return None
        with self._contain(name) as contained:
            keys = StationKeys(self._keys.event, name)
            station = GatewayStation(self._broker, keys, ring_bytes=self._ring_bytes, errors=self._errors)
            await station.open()
        if contained.error_id is not None or station is None:
            failures = 1 if failure is None else failure.failures + 1
            pause_seconds = backoff_seconds(failures, FIRST_PAUSE_SECONDS)
            self._failed[name] = _Failure(contained.error_id or "", failures, trio.current_time() + pause_seconds)
            return None
        self._failed.pop(name, None)
        self.stations[name] = station
        self._hub.add(station.channel)
        readers.add(station)
        self._log.info("station found", station=name)
        return station

    async def _read_state(self, client: Client, station: GatewayStation) -> None:
        """Apply the status messages that we have missed because this gateway wasn't connected."""
        state = await client.hgetall(StationKeys(self._keys.event, station.id).state)
        for kind, text in state.items():
            if kind in (b"station", b"set"):
                station.apply(object_in(text))

    async def _listen(self, client: Client, at: bytes, readers: _Readers) -> None:
        """Apply status messages when they arrive, beginning after the entry `at`."""
        while True:
            answer = await client.xread({self._keys.status: at}, block=_WAIT_MILLISECONDS)
            for entries in (answer or {}).values():
                for entry in entries_of(entries):
                    at = entry.id
                    message = object_in(entry.line)
                    name = str(message.get("station"))
                    if name not in self.stations:
                        await self._look(client, readers)
                    station = self.stations.get(name)
                    if station is not None:
                        with self._contain(name):
                            station.apply(message)


class _Readers:
    """The blocking calls on one connection. For each of them, this knows the logs that it is waiting for."""

    def __init__(
        self,
        nursery: trio.Nursery,
        client: Client,
        cluster: bool,
        on_received: Callable[[int], None],
        errors: InternalErrors,
    ) -> None:
        self._nursery = nursery
        self._errors = errors
        self._client = client
        self._max_streams = 1 if cluster else _STREAMS_PER_CALL
        self._on_received = on_received
        self._calls: list[dict[bytes, Log]] = []

    def add(self, station: GatewayStation) -> None:
        """Begin to read the streams of the given station."""
        for mode in MODES:
            if not self._calls or len(self._calls[-1]) >= self._max_streams:
                self._calls.append({})
                self._nursery.start_soon(self._read, self._calls[-1])
            self._calls[-1][station.histories[mode].stream.encode()] = (station, mode)

    async def _read(self, logs: Mapping[bytes, Log]) -> None:
        """Repeat one call until cancelled. `logs` are its streams. More can be added to it by `add`."""
        while True:
            began = trio.current_time()
            at = {stream: station.position(mode) for stream, (station, mode) in logs.items()}
            count = max(_MIN_PER_STREAM, min(_MAX_PER_STREAM, _MAX_ENTRIES // len(at)))
            answer = await self._client.xread(at, count=count, block=_WAIT_MILLISECONDS)
            max_found = 0
            for stream, found in (answer or {}).items():
                station, mode = logs[stream]
                entries = entries_of(found)
                with self._errors.contain("station", expected=BROKER_ERRORS, station=station.id) as contained:
                    if len(found) >= count:
                        await station.check_trimmed(mode)
                    self._on_received(await station.take(mode, entries))
                if contained.error_id is not None:
                    station.skip(mode, entries)
                max_found = max(max_found, len(found))
            if max_found < count // 2:
                await trio.sleep_until(began + _PAUSE_SECONDS)
