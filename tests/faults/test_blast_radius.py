"""A bug ends only the part that it is in: raised in every endpoint, output, tail event and pipeline stage in turn."""

from __future__ import annotations

import os
import re
import threading
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
import trio
from coredis.tokens import PureToken
from starlette.routing import Mount, Route

from slpstream.config import Announce, Fanout, StationConfig
from slpstream.daemon import outputs
from slpstream.daemon.announce.dns_sd import DnsSd
from slpstream.daemon.playback import Playback
from slpstream.daemon.sets import StationSets
from slpstream.daemon.situations import DaemonSituations
from slpstream.daemon.station import station as station_module
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.daemon.station.station import Station
from slpstream.daemon.tournament.audit import SetupAudit
from slpstream.daemon.tournament.bracket import DaemonBracket
from slpstream.daemon.tournament.controllers import DaemonControllers
from slpstream.daemon.tournament.handover import Handover
from slpstream.formats.registry import of_name
from slpstream.game import pipeline
from slpstream.game.log_reader import GrowingLogReader
from slpstream.game.replay_check import ReplayCheck
from slpstream.outputs import JsonLinesSink, ObsFiles, WebhookSink
from slpstream.outputs.chat.sink import ChatSink
from slpstream.outputs.redis import sink as broker_sink
from slpstream.outputs.scoreboards.followed_station import FollowedStation
from slpstream.sources.tail import CaughtUp, FolderTail, Lost, Opened, Refused, Scanned, Settled, TailEvent
from slpstream.store import GameIndex
from slpstream.store import index as index_module
from slpstream.stream import Channel, Outbox, Subscriber
from slpstream.stream.view import View
from slpstream.system.internal_errors import PARTS
from slpstream.tournament.bracket.desk import BracketDesk
from slpstream.web import app as app_module
from slpstream.web import server as server_module
from slpstream.web.websocket import WebsocketSession
from tests.faults.blast_radius import ROWS, TIMEOUT_SECONDS, Bug, Player, Venue, bug_in, venue
from tests.redis.ingest import broker_client, stored
from tests.redis.redis_process import redis
from tests.synthetic.match import synthetic_match
from tests.web.served import Answer, Caller

_PATH_VALUES = {"station": "s00", "gameId": "0" * 32}

pytestmark = pytest.mark.slow


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> list[Route | Mount]:
    """The routes of the next daemon, once it runs."""
    found: list[Route | Mount] = []
    original = app_module.make_app

    def make_app(*arguments: Any) -> Any:
        app = original(*arguments)
        found.extend(route for route in app.routes if isinstance(route, Route | Mount))
        return app

    monkeypatch.setattr(server_module, "make_app", make_app)
    return found


def path_of(route: Route | Mount) -> str:
    """A path that leads to a route."""
    path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda name: _PATH_VALUES.get(name[1], "x.slp"), route.path)
    return f"{path.removesuffix('/x.slp')}/x.js" if isinstance(route, Mount) else path


@contextmanager
def bug_in_route(route: Route | Mount, *, after_head: bool) -> Any:
    """Raises in an endpoint, before or after the head of its response was sent."""
    original = route.app
    raised = [0]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raised[0] += 1
        if after_head:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise Bug(route.path)

    route.app = app
    try:
        yield raised
    finally:
        route.app = original


async def request(here: Venue, path: str, method: str = "GET") -> Answer:
    """The response to a request."""
    caller = Caller(await trio.open_tcp_stream("127.0.0.1", here.port))
    async with caller.stream:
        await caller.send(f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{here.port}\r\n\r\n".encode())
        return await caller.answer(head_only=method == "HEAD")


async def broken_request(here: Venue, path: str, method: str) -> bytes:
    """All bytes of a response that breaks off."""
    data = b""
    async with await trio.open_tcp_stream("127.0.0.1", here.port) as stream:
        await stream.send_all(f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{here.port}\r\n\r\n".encode())
        with trio.fail_after(10):
            async for part in stream:
                data += part
    return data


@pytest.mark.trio
async def test_bug_in_any_endpoint(tmp_path: Path, routes: list[Route | Mount]) -> None:
    async with venue(tmp_path) as here:
        assert len(routes) > 15
        for route in routes:
            methods = sorted(route.methods or ()) if isinstance(route, Route) else ["GET"]
            path = path_of(route)
            if path == "/v1/events":
                methods = ["HEAD"]  # GET is a stream, see below

            async def ask(_: Player, path: str = path, methods: list[str] = methods) -> None:
                for method in methods:
                    answer = await request(here, path, method)
                    assert answer.status == 500
                    assert answer.headers["content-type"] == "application/problem+json"
                    if method != "HEAD":
                        assert answer.problem["detail"] == f"internal error {answer.problem['errorId']}"
                        assert re.fullmatch(r"[0-9a-f]{8}", answer.problem["errorId"])

            async def ask_late(_: Player, path: str = path, methods: list[str] = methods) -> None:
                data = await broken_request(here, path, methods[0])
                assert data.count(b"HTTP/1.1") == 1
                assert data.startswith(b"HTTP/1.1 200")

            before = partial(bug_in_route, route, after_head=False)
            after = partial(bug_in_route, route, after_head=True)
            await here.play(f"{route.path}", "request", lambda _, before=before: before(), ask)  # type: ignore[misc]
            await here.play(f"{route.path}, after the head", "request", lambda _, after=after: after(), ask_late)  # type: ignore[misc]
        assert (await request(here, "/healthz")).status == 200


@pytest.mark.trio
async def test_bug_in_a_stream(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:

        async def follow_events(victim: Player) -> None:
            data = await broken_request(here, f"/v1/events?station={victim.station}", "GET")
            assert data.startswith(b"HTTP/1.1 200")
            assert b'"code":1011,"message":"internal error ' in data

        run_once = partial(bug_in, Subscriber, "run", times=1)
        await here.play("/v1/events, following", "stream", lambda _: run_once(), follow_events)

        async def ask_events(_: Player) -> None:
            answer = await request(here, "/v1/events?station=s00")
            assert answer.problem["errorId"]

        find_once = partial(bug_in, server_module, "find_channels", times=1)
        await here.play("/v1/events, before the head", "request", lambda _: find_once(), ask_events)

        for method in ("_subscribe", "_read"):
            await here.play(
                f"/v1/stream, WebsocketSession.{method}",
                "stream",
                lambda _, method=method: bug_in(WebsocketSession, method, times=1),  # type: ignore[misc]
                partial(closes_with_1011, here),
            )

        async def reconnect(victim: Player) -> None:
            await here.until(lambda: 1011 in victim.closed, "closed with 1011")

        for owner, name in ((View, "entry"), (Outbox, "send")):
            victim = await here.play(
                f"{owner.__name__}.{name}",
                "subscriber",
                lambda station, owner=owner, name=name: bug_in(owner, name, station=station, times=1),  # type: ignore[misc]
            )
            await reconnect(victim)
            await here.until(lambda victim=victim: victim.lines == victim.expected, "resumed")  # type: ignore[misc]


async def closes_with_1011(here: Venue, victim: Player) -> None:
    """A new websocket of a station is closed with 1011."""
    from websockets.exceptions import ConnectionClosed
    from websockets.trio.client import connect

    with pytest.raises(ConnectionClosed) as closed:
        async with connect(f"ws://127.0.0.1:{here.port}/v1/stream?station={victim.station}", proxy=None) as websocket:
            while True:
                await websocket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011
    assert re.fullmatch(r"internal error [0-9a-f]{8}", closed.value.rcvd.reason)


def told(victim: Player) -> list[bytes]:
    """The diagnostics about bugs that the station's subscriber has received."""
    return [line for line in victim.statuses if b'"internal_error"' in line]


@pytest.mark.trio
async def test_bug_in_any_tail_event(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:

        async def add_station(_: Player) -> None:
            for config in (StationConfig(id="late", folder=str(tmp_path / "late")),):
                Path(config.folder).mkdir(exist_ok=True)
                await here.daemon.running.remove("late")
                assert await here.daemon.running.add(config)

        async def lose(victim: Player) -> None:
            old = victim.folder / "Game_lost.slp"
            old.write_bytes(b"{U\x03raw[$U#l")
            running = here.daemon.running[victim.station].station
            await here.until(lambda: old in running.followed, "followed")
            old.unlink()

        async def refuse(victim: Player) -> None:
            (victim.folder / "Game_link.slp").symlink_to("/etc/hostname")

        for kind in get_args(TailEvent):
            act = {Scanned: add_station, Settled: add_station, Lost: lose, Refused: refuse}.get(kind)
            part = "station" if kind in (Scanned, Settled) else "file"

            def bug(station: str, kind: Any = kind, act: Any = act) -> AbstractContextManager[list[int]]:
                table: Any = Station._TAKES
                return bug_in(table, kind, station="late" if act is add_station else station)

            early = kind in (Opened, CaughtUp)
            victim = await here.play(f"tail event {kind.__name__}", part, bug, act, early=early)
            if part == "file" and kind is not Refused:
                await here.until(lambda victim=victim: bool(told(victim)), f"told of {kind.__name__}")  # type: ignore[misc]
                assert b"Game_" in told(victim)[-1]
            if act is add_station:
                late = here.daemon.running["late"].station
                await here.until(lambda late=late: late.ready, "the station works again")  # type: ignore[misc]
        await here.until(lambda: here.daemon.errors.restarting() != [], "named by /readyz")


STAGES: list[tuple[Any, str]] = [
    (type(of_name("x.slp").new_reader("x.slp")), "feed"),
    (type(of_name("x.slp").new_reader("x.slp")), "take_command_counts"),
    (pipeline.Pipeline, "feed"),
    (pipeline.Pipeline, "rewrite"),
    (pipeline.Pipeline, "_batch"),
    (pipeline.Deriver, "derive"),
    (pipeline.LogWriter, "write"),
    (pipeline.FinalizedLogWriter, "write"),
    (FollowedFile, "describe"),
    (FollowedFile, "keep_checkpoint"),
    (FollowedFile, "release"),
    (GrowingLogReader, "keep"),
    (station_module, "record_of"),
    (station_module, "Game"),
    (GameIndex, "played"),
    (Channel, "publish"),
    (StationCounters, "count"),
    (ReplayCheck, "published"),
    (ReplayCheck, "released"),
    (FolderTail, "release"),
    (FolderTail, "_advance"),
    (Station, "_check_growth"),
]


EARLY = {"Game", "keep"}
"""Stages that only the beginning of a game reaches."""


TASKS = {"_advance", "_check_growth"}
"""Stages that are not about one file."""


def in_the_event_loop(*_: object) -> bool:
    """Whether a file is being followed here. Outputs of its station that are behind read it again in threads."""
    return threading.current_thread() is threading.main_thread()


@pytest.mark.trio
async def test_bug_in_any_pipeline_stage(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        for owner, name in STAGES:
            where = f"{owner.__name__.rpartition('.')[2]}.{name}"

            def bug(station: str, owner: Any = owner, name: str = name) -> AbstractContextManager[list[int]]:
                return bug_in(owner, name, station=station, times=1, when=in_the_event_loop)

            part = "station" if name in TASKS else "file"
            victim = await here.play(where, part, bug, early=name in EARLY)
            if (owner, name) == (pipeline.Pipeline, "feed"):
                reason = here.daemon.running[victim.station].station.describe()["reason"]
                assert reason.startswith("internal error ")


@pytest.mark.trio
async def test_bug_in_any_output_and_shared_task(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        of_station: list[tuple[str, Any, str]] = [
            ("jsonl", JsonLinesSink, "_write"),
            ("obs", ObsFiles, "_write"),
            ("webhook", WebhookSink, "_deliveries"),
        ]
        for part, owner, name in of_station:
            await here.play(
                f"{owner.__name__}.{name}",
                part,
                lambda station, owner=owner, name=name: bug_in(owner, name, station=station),  # type: ignore[misc]
            )
            assert any(part in reason for reason in here.daemon.not_ready())
        shared: list[tuple[str, Any, str]] = [
            # First, because a bracket that begins again after its bugs makes sets too.
            ("sets", StationSets, "_make"),
            ("sets", StationSets, "_publish"),
            ("webhook", WebhookSink, "_store_set"),
            ("webhook", WebhookSink, "set_changed"),
            ("webhook", outputs, "_bracket_set"),
            ("obs", ObsFiles, "set_changed"),
            ("chat", ChatSink, "set_changed"),
            ("scoreboard", FollowedStation, "set_changed"),
            ("playback", Playback, "set_changed"),
            ("bracket", DaemonBracket, "set_changed"),
            ("bracket", BracketDesk, "_take"),
            ("situations", DaemonSituations, "_search"),
            ("index", index_module, "_store"),
            ("index", GameIndex, "_flush"),
            ("replay_check", ReplayCheck, "_check"),
            ("audit", SetupAudit, "_newest_games"),
            ("controllers", DaemonControllers, "_begin"),
            ("handover", Handover, "set_changed"),
            ("handover", Handover, "_take_over"),
            ("upkeep", trio.lowlevel, "current_statistics"),
        ]
        for part, owner, name in shared:
            where = f"{owner.__name__.rpartition('.')[2]}.{name}"
            await here.play(where, part, lambda _, owner=owner, name=name: bug_in(owner, name, times=1))  # type: ignore[misc]

        async def add_old_file(_: Player) -> None:
            old = tmp_path / "old" / "Game_old.slp"
            old.parent.mkdir()
            old.write_bytes(synthetic_match(seed=5, frames=10))
            os.utime(old, (1e9, 1e9))
            assert await here.daemon.running.add(StationConfig(id="old", folder=str(old.parent)))

        read_entry_once = partial(bug_in, index_module, "read_entry", times=1)
        await here.play("index.read_entry", "index", lambda _: read_entry_once(), add_old_file)
        for player in here.players:
            jsonl = tmp_path / "jsonl" / player.station / f"{player.game_id}.jsonl"
            await here.until(jsonl.exists, "outputs go on")


@pytest.mark.trio
async def test_bug_in_the_broker_sink(tmp_path: Path) -> None:
    """Also of the station with the bug, each message is in the broker once in the end."""
    of_station: list[tuple[Any, str]] = [
        (broker_sink, "_begin"),
        (broker_sink, "_record_turn"),
        (broker_sink._Writer, "put"),
    ]
    shared: list[tuple[Any, str]] = [
        (broker_sink._Writer, "_send"),
        (broker_sink.OutgoingLog, "note"),
        (broker_sink.RedisSink, "_send_statuses"),
    ]
    with redis() as server:
        async with (
            broker_client(server.url) as client,
            venue(tmp_path, fanout=Fanout(url=server.url, event="bugs")) as here,
        ):

            async def in_broker(player: Player) -> list[bytes]:
                mark = b'"station":"%b",' % player.station.encode()
                lines = await stored(client, "bugs", player.station)
                return [line.replace(mark, b"", 1) for line in lines if player.game_id.encode() in line]

            async def until_in_broker(players: list[Player], where: str) -> None:
                for player in players:
                    with trio.move_on_after(TIMEOUT_SECONDS):
                        while len(await in_broker(player)) < len(player.expected):
                            await trio.sleep(0.02)
                    assert await in_broker(player) == player.expected, f"{where}: {player.station}"

            async def cut_off(raised: list[int], _: Player) -> None:
                """Close the daemon's connections until it begins anew. It only notices while it waits for an answer."""
                with trio.move_on_after(TIMEOUT_SECONDS):
                    while not raised[0]:
                        await client.client_pause(int(TIMEOUT_SECONDS * 1000), PureToken.WRITE)
                        await trio.sleep(0.2)
                        await client.client_kill(skipme=True)
                        await client.client_unpause()
                        await trio.sleep(1)

            for owner, name in [*of_station, *shared]:
                where = f"{owner.__name__.rpartition('.')[2]}.{name}"
                victim = here.players[len(here.results) % len(here.players)]
                once = (owner, name) in shared
                station, times = (None, 1) if once else (victim.station, 10**9)
                with bug_in(owner, name, station=station, times=times) as raised:
                    act = partial(cut_off, raised) if name == "_begin" else None
                    await here.play(where, "broker", lambda _, raised=raised: nullcontext(raised), act, early=True)  # type: ignore[misc]
                    await until_in_broker([player for player in here.players if player is not victim], where)
                    if not once:
                        assert await in_broker(victim) == []
                        assert any("broker" in reason for reason in here.daemon.not_ready())
                await until_in_broker(here.players, where)


@pytest.mark.trio
async def test_bug_in_announcing_the_daemon(tmp_path: Path) -> None:
    """Nothing is announced, and it is tried again and again, with pauses."""
    with bug_in(DnsSd, "_announce") as raised:
        async with venue(tmp_path, announce=Announce(dns_sd=True)) as here:
            await here.play("DnsSd._announce", "announce", lambda _: nullcontext(raised))
            assert any("announce" in reason for reason in here.daemon.not_ready())
            assert raised[0] > 1


def test_every_part_has_a_row() -> None:
    assert sorted(row.part for row in ROWS) == list(PARTS)
