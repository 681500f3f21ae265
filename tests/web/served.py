"""The web server in the test's own event loop, on a free port of 127.0.0.1, over stations without files; and a plain
HTTP client that sends exactly the given bytes.

Determinism: servers use port 0 and are always stopped. Tests that depend on time use trio's autojump clock, with a
threshold because loopback sockets need a moment of real time. Elsewhere only `fail_after` depends on time.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio
from msgspec import UNSET
from websockets.trio.client import connect
from websockets.trio.connection import Connection as Websocket

from slpstream.model.errors import ConfigError, StoreError
from slpstream.parts import registry
from slpstream.sets import Change, Corrections, Ledger, Rules, SetPatch, SetScore, changed, newest_set, score_of, undone
from slpstream.sets.grouping import Set
from slpstream.store import GameKey, GamesQuery
from slpstream.stream.channel import Hub
from slpstream.web import schemas
from slpstream.web.access import Access
from slpstream.web.games import EncodedFrames, EncodedStats, FramesQuery, ReplayFile
from slpstream.web.observer import Observer
from slpstream.web.server import Limits, WebServer, listen
from slpstream.web.site import Page as SitePage
from slpstream.web.site import Site
from tests.stream.fakes import FakeStation

TIMEOUT_SECONDS = 10.0


class FakeStations:
    """Two stations without files, see `web.stations.Stations`."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.now_starting: list[str] = []
        self.ledger = Ledger()
        self.now_ms = 1_700_000_000_000
        self.full = False
        self.correction_seconds = 0.0
        """The duration of a correction of a set, in seconds."""
        self.reloaded: schemas.Reloaded | None = None
        self.refused: ConfigError | None = None
        self.discovered: list[str] = []

    def stations(self) -> list[dict[str, Any]]:
        return [{"id": "main", "state": "idle"}, {"id": "side", "state": "offline"}]

    def station(self, station: str) -> dict[str, Any] | None:
        known = {described["id"]: described for described in self.stations()}
        return {**known[station], "recordings": []} if station in known else None

    def not_ready(self) -> list[str]:
        return self.missing

    def starting(self) -> list[str]:
        return self.now_starting

    def render_metrics(self, names: Collection[str] = ()) -> bytes:
        return b"".join(b"%b 1.0\n" % name.encode() for name in names or ["slpstream_fake"])

    async def reload(self) -> schemas.Reloaded | None:
        if self.refused is not None:
            raise self.refused
        return self.reloaded

    async def set_of(self, station: str) -> SetScore | None:
        if self.station(station) is None:
            return None
        corrections = self.ledger.corrections
        return score_of(newest_set((), corrections, Rules()), corrections, self.ledger.last_change)

    async def correct_set(
        self, station: str, patch: SetPatch, is_current: Callable[[SetScore], bool], by: str
    ) -> SetScore | None:
        await trio.sleep(self.correction_seconds)
        before = await self.set_of(station)
        assert before is not None
        if not is_current(before):
            return None
        return await self._keep(station, changed(self.ledger, patch, _set_without_games, at_ms=self.now_ms, by=by))

    async def set_changes(self, station: str) -> Sequence[Change]:
        return self.ledger.changes

    async def remove_discovered(self, station: str) -> bool:
        """Remove the station of a discovered console."""
        if station not in self.discovered:
            return False
        self.discovered.remove(station)
        return True

    async def undo_set_change(self, station: str, change_id: int, by: str) -> SetScore:
        return await self._keep(station, undone(self.ledger, change_id, at_ms=self.now_ms, by=by))

    async def _keep(self, station: str, after: Ledger) -> SetScore:
        if self.full:
            raise StoreError("the disk is full")
        self.ledger = after
        self.now_ms += 1000
        score = await self.set_of(station)
        assert score is not None
        return score


def _set_without_games(corrections: Corrections) -> Set:
    return newest_set((), corrections, Rules())


class FakeGames:
    """Made-up games, see `web.games.Games`."""

    def __init__(self) -> None:
        self.queries: list[GamesQuery | FramesQuery] = []
        self.items: list[schemas.GameItem] = []
        self.more = False
        self.known: dict[str, schemas.Game] = {}
        self.frame_count = 0
        self.stats_body = b'{"gameComplete":true}'
        self.file = b""
        self.opened: list[io.BytesIO] = []
        self.file_name = "Game_1.slp"
        self.wait_seconds = 0.0
        """The duration of a search for a game, in seconds."""

    async def games(self, query: GamesQuery) -> schemas.GameList:
        self.queries.append(query)
        following = str(GameKey((-5, "f" * 32))) if self.more else None
        return schemas.GameList(games=self.items[: query.limit], next=following)

    async def game(self, game_id: str) -> schemas.Game | None:
        await trio.sleep(self.wait_seconds)
        return self.known.get(game_id)

    async def frames(self, game_id: str, query: FramesQuery) -> EncodedFrames | None:
        self.queries.append(query)
        if game_id not in self.known:
            return None
        first = 0 if query.first is UNSET else query.first
        numbers = range(first, self.frame_count)[: query.limit]
        following = first + query.limit if first + query.limit < self.frame_count else None
        return EncodedFrames([b'{"frame":%d}' % number for number in numbers], following, final=True)

    async def stats(self, game_id: str) -> EncodedStats | None:
        return EncodedStats(self.stats_body, final=True) if game_id in self.known else None

    async def replay(self, game_id: str) -> ReplayFile | None:
        if game_id not in self.known:
            return None
        self.opened.append(io.BytesIO(self.file))
        return ReplayFile(self.file_name, self.opened[-1], len(self.file), 1_700_000_000.25)


class Answer(NamedTuple):
    """One HTTP response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def problem(self) -> dict[str, Any]:
        """The problem details in the body."""
        assert self.headers["content-type"] == "application/problem+json"
        problem: dict[str, Any] = self.json
        assert problem["status"] == self.status
        return problem


class Caller:
    """One TCP connection to the server."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._buffer = b""

    async def __aenter__(self) -> Caller:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stream.aclose()

    async def send(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def begun(self) -> None:
        """Wait for the first bytes of a response."""
        with trio.fail_after(TIMEOUT_SECONDS):
            await self._more()

    async def answer(self, *, head_only: bool = False) -> Answer:
        """The next response."""
        with trio.fail_after(TIMEOUT_SECONDS):
            while b"\r\n\r\n" not in self._buffer:
                await self._more()
            head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
            status, *rows = head.decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
            assert len(headers) == len(rows), "duplicate header"
            length = 0 if head_only else int(headers.get("content-length", 0))
            while len(self._buffer) < length:
                await self._more()
            body, self._buffer = self._buffer[:length], self._buffer[length:]
            return Answer(int(status.split()[1]), headers, body)

    async def _more(self) -> None:
        data = await self.stream.receive_some()
        assert data, f"the connection ended after {self._buffer!r}"
        self._buffer += data

    async def ended(self) -> bool:
        """Whether the server closes the connection without sending another byte."""
        with trio.fail_after(TIMEOUT_SECONDS):
            return not self._buffer and await self.stream.receive_some() == b""


class CountingHub(Hub):
    """A hub that counts the subscriptions that were begun."""

    subscriptions = 0

    def check(self, stations: Sequence[str] | None) -> None:
        self.subscriptions += 1
        super().check(stations)


class Served:
    """A running server."""

    def __init__(self, port: int, server: WebServer, hub: CountingHub, stations: list[FakeStation]) -> None:
        self.port = port
        self.server = server
        self.hub = hub
        self.stations = stations
        self.fake = FakeStations()
        self.games = FakeGames()
        self.stop = trio.Event()
        self.stopped = trio.Event()
        self.closed: list[int] = []
        self.requests: list[int] = []
        self.lagged = 0
        self.dropped: list[str] = []

    def count_lagged(self) -> None:
        """Count a missed message."""
        self.lagged += 1

    @property
    def host(self) -> bytes:
        return b"127.0.0.1:%d" % self.port

    async def call(self) -> Caller:
        """A new connection."""
        return Caller(await trio.open_tcp_stream("127.0.0.1", self.port))

    async def ask(self, target: str, method: str = "GET", **headers: str) -> Answer:
        """Send a request on a new connection and return the response. Headers are keywords: `x_forwarded_for="..."`."""
        return await self.send_body(b"", target, method, **headers)

    async def send_body(self, body: bytes, target: str, method: str, **headers: str) -> Answer:
        """Send one request with a body and return the response."""
        length = {"content-length": str(len(body))} if body else {}
        rows = {"host": self.host.decode(), **length, **{k.replace("_", "-"): v for k, v in headers.items()}}
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in rows.items()) + "\r\n"
        async with await self.call() as caller:
            await caller.send(head.encode("latin-1") + body)
            return await caller.answer(head_only=method == "HEAD")

    @asynccontextmanager
    async def websocket(self, query: str = "", **options: Any) -> AsyncIterator[Websocket]:
        """A websocket client."""
        with trio.fail_after(TIMEOUT_SECONDS):
            async with connect(
                f"ws://127.0.0.1:{self.port}/v1/stream{query}",
                proxy=None,
                ping_interval=None,
                compression=None,
                close_timeout=2,
                **options,
            ) as websocket:
                yield websocket


@asynccontextmanager
async def served(
    *names: str,
    access: Access | None = None,
    max_connections: int = 100,
    outbox_bytes: int = 65536,
    socket_buffer_bytes: int = 65536,
    grace_seconds: float = 3.0,
    settled: bool = True,
    overlay_folder: Path | None = None,
    name_folders: Mapping[str, Path] | None = None,
    pages: Sequence[SitePage] | None = None,
) -> AsyncIterator[Served]:
    """Run a server for stations with these names, by default `main`."""
    stations = [FakeStation(name, settled=settled) for name in names or ("main",)]
    hub = CountingHub()
    for station in stations:
        hub.add(station.channel)
    [listener] = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = WebServer(
        hub,
        (fake := FakeStations()),
        (games := FakeGames()),
        access=Access() if access is None else access,
        limits=Limits(max_connections, outbox_bytes, socket_buffer_bytes),
        observer=Observer(
            on_request=lambda status: running.requests.append(int(status)),
            on_lagged=lambda: running.count_lagged(),
            on_closed=lambda code: running.closed.append(code),
            on_dropped=lambda reason: running.dropped.append(reason),
        ),
        site=Site(
            registry.pages() if pages is None else pages,
            make_routes=registry.page_routes,
            static_folders=registry.static_folders(),
            name_folders=name_folders,
            overlay_folder=overlay_folder,
            claim_paths=registry.claim_paths(),
            describe=registry.function("describe_api"),
        ),
    )
    running = Served(port, server, hub, stations)
    running.fake = fake
    running.games = games

    async def serve() -> None:
        await server.serve([listener], running.stop, grace_seconds=grace_seconds)
        running.stopped.set()

    with listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            yield running
            running.stop.set()
            with trio.fail_after(TIMEOUT_SECONDS):
                await running.stopped.wait()
    assert all(station.channel.subscribers == 0 for station in stations), "no subscriber is left"
    assert server.websockets == server.event_streams == 0
