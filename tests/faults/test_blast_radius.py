"""A bug ends only the part that contains it. Bugs are raised in every endpoint, output, tail event and pipeline stage.

The gate has three endpoints. The rest takes minutes and runs in the release check.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, get_args

import pytest
import trio
from starlette.routing import Mount, Route
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import connect

from slpstream.config import StationConfig
from slpstream.daemon.station import publishing
from slpstream.daemon.station.counters import StationCounters
from slpstream.daemon.station.followed_files import FollowedFile, FollowedFiles
from slpstream.daemon.station.following import Following
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.stats import SlippiStats
from slpstream.game import pipeline
from slpstream.game.described import DescribedGame
from slpstream.game.log_reader import GrowingLogReader
from slpstream.parts import registry
from slpstream.parts.announce.dns_sd import DnsSd
from slpstream.parts.announce.part import Announce
from slpstream.parts.audit import setup_audit
from slpstream.parts.bracket.configured import ConfiguredBracket
from slpstream.parts.chat.sink import ChatSink
from slpstream.parts.controllers.check import ControllerCheck
from slpstream.parts.fanout import sink as broker_sink
from slpstream.parts.fanout.part import Fanout
from slpstream.parts.handover.handover import ReplayZips
from slpstream.parts.jsonl.sink import JsonLinesSink
from slpstream.parts.playback_dolphin.configured import ConfiguredDolphin
from slpstream.parts.scoreboards.followed_station import FollowedStation
from slpstream.parts.situations.search import LiveSituations
from slpstream.parts.text_files import files as obs
from slpstream.parts.text_files.files import ObsFiles
from slpstream.parts.verify import replay_check
from slpstream.parts.verify.replay_check import ReplayCheck
from slpstream.parts.webhooks import sink as webhook
from slpstream.parts.webhooks.sink import WebhookSink
from slpstream.sources.tail.events import CaughtUp, Grew, Lost, Opened, Refused, Scanned, Settled, TailEvent, Touched
from slpstream.sources.tail.folder import FolderTail
from slpstream.store import GameIndex, old_files
from slpstream.store.tables.games import Games
from slpstream.stream.channel import Channel, Group
from slpstream.stream.subscriber import StationDelivery, Subscriber
from slpstream.system.internal_errors import CORE_LABELS
from slpstream.web import app as app_module
from slpstream.web import server as server_module
from slpstream.web import websocket
from tests.faults.blast_radius import ROWS, TIMEOUT_SECONDS, Bug, Player, Venue, bug_in, venue
from tests.parts.fanout.ingest import broker_client, stored
from tests.parts.fanout.redis_process import redis
from tests.synthetic.match import synthetic_match
from tests.web.served import Answer, Caller

pytestmark = pytest.mark.trio

_PATH_VALUES = {"station": "s00", "gameId": "0" * 32}
IN_THE_GATE = {"/v1/stations", "/v1/games", "/metrics"}
"""Endpoints."""


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> list[Route | Mount]:
    """The routes of the next daemon, filled when it starts."""
    found: list[Route | Mount] = []
    original = app_module.make_app

    def make_app(*arguments: Any, **options: Any) -> Any:
        app = original(*arguments, **options)
        found.extend(route for route in app.routes if isinstance(route, Route | Mount))
        return app

    monkeypatch.setattr(server_module, "make_app", make_app)
    return found


def path_of(route: Route | Mount) -> str:
    """A path that leads to a route."""
    path = re.sub(r"\{(\w+)(?::\w+)?\}", lambda name: _PATH_VALUES.get(name[1], "x.slp"), route.path)
    return f"{path.removesuffix('/x.slp')}/x.js" if isinstance(route, Mount) else path


@contextmanager
def bug_in_route(route: Route | Mount, *, after_head: bool) -> Iterator[list[int]]:
    """Raise in an endpoint, before or after the head of its response is sent."""
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


async def broken_request(here: Venue, path: str, method: str = "GET") -> bytes:
    """Send a request and return all bytes of the response, which breaks off."""
    data = b""
    async with await trio.open_tcp_stream("127.0.0.1", here.port) as stream:
        await stream.send_all(f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{here.port}\r\n\r\n".encode())
        with trio.fail_after(10):
            async for part in stream:
                data += part
    return data


@pytest.mark.parametrize("chosen", [IN_THE_GATE, pytest.param(None, marks=pytest.mark.release)], ids=["three", "all"])
async def test_bug_in_any_endpoint(tmp_path: Path, routes: list[Route | Mount], chosen: set[str] | None) -> None:
    async with venue(tmp_path) as here:
        tried = [route for route in routes if chosen is None or route.path in chosen]
        assert len(tried) > 15 if chosen is None else len(tried) == len(chosen)
        for route in tried:
            methods = sorted(route.methods or ()) if isinstance(route, Route) else ["GET"]
            path = path_of(route)
            if path == "/v1/events":
                methods = ["HEAD"]  # GET is a stream, tested below

            async def ask(_: Player, path: str = path, methods: list[str] = methods) -> None:
                for method in methods:
                    answer = await request(here, path, method)
                    assert answer.status == 500
                    assert answer.headers["content-type"] == "application/problem+json"
                    if method != "HEAD":
                        assert answer.problem["detail"] == f"internal error {answer.problem['errorId']}"
                        assert re.fullmatch(r"[0-9a-f]{8}", answer.problem["errorId"])

            async def ask_late(_: Player, path: str = path, method: str = methods[0]) -> None:
                data = await broken_request(here, path, method)
                assert data.count(b"HTTP/1.1") == 1
                assert data.startswith(b"HTTP/1.1 200")

            await here.play(route.path, "request", lambda _: bug_in_route(route, after_head=False), ask)  # noqa: B023
            await here.play(
                f"{route.path}, after the head",
                "request",
                lambda _: bug_in_route(route, after_head=True),  # noqa: B023
                ask_late,
            )
        assert (await request(here, "/healthz")).status == 200


@pytest.mark.release
async def test_bug_in_a_stream(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:

        async def follow_events(victim: Player) -> None:
            data = await broken_request(here, f"/v1/events?station={victim.station}")
            assert data.startswith(b"HTTP/1.1 200")
            assert b'"code":1011,"message":"internal error ' in data

        async def ask_events(_: Player) -> None:
            assert (await request(here, "/v1/events?station=s00")).problem["errorId"]

        async def open_websocket(victim: Player) -> None:
            url = f"ws://127.0.0.1:{here.port}/v1/stream?station={victim.station}"
            with pytest.raises(ConnectionClosed) as closed:
                async with connect(url, proxy=None) as socket:
                    await socket.send('{"op":"subscribe"}')
                    while True:
                        await socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1011
            assert re.fullmatch(r"internal error [0-9a-f]{8}", closed.value.rcvd.reason)

        bugs: list[tuple[str, Any, str, Any]] = [
            ("stream", Subscriber, "_follow", follow_events),
            ("request", server_module, "check_subscription", ask_events),
            ("stream", websocket, "Subscriber", open_websocket),
            ("stream", websocket, "parse_subscription", open_websocket),
        ]
        for part, owner, name, act in bugs:
            await here.play(name, part, partial(once, owner, name), act)
        sending: list[tuple[Any, str]] = [(Group, "send_at_once"), (StationDelivery, "tell")]
        for owner, name in sending:
            victim = await here.play(name, "subscriber", partial(once_for_a_station, owner, name))
            await here.until(lambda victim=victim: 1011 in victim.closed, "closed with 1011")  # type: ignore[misc]
            await here.until(lambda victim=victim: victim.lines == victim.expected, "resumed")  # type: ignore[misc]


def once(owner: Any, name: str, _: str) -> Any:
    return bug_in(owner, name, times=1)


def once_for_a_station(owner: Any, name: str, station: str) -> Any:
    return bug_in(owner, name, station=station, times=1)


def told(victim: Player) -> list[bytes]:
    """The diagnostics about bugs that the station's subscriber has received."""
    return [line for line in victim.statuses if b'"internal_error"' in line]


@pytest.mark.release
async def test_bug_in_any_tail_event(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:

        async def add_station(_: Player) -> None:
            config = StationConfig(id="late", folder=str(tmp_path / "late"))
            Path(config.folder).mkdir(exist_ok=True)
            await here.daemon.host.stations.remove("late")
            assert await here.daemon.host.stations.add(config)

        async def lose(victim: Player) -> None:
            old = victim.folder / "Game_lost.slp"
            old.write_bytes(b"{U\x03raw[$U#l")
            running = here.daemon.host.stations[victim.station].station
            await here.until(lambda: old in running.followed, "followed")
            old.unlink()

        async def touch_old_file(victim: Player) -> None:
            old = tmp_path / "late" / "Game_old.slp"
            old.parent.mkdir(exist_ok=True)
            old.write_bytes(synthetic_match(seed=1, frames=60))
            os.utime(old, (1e9, 1e9))
            await add_station(victim)
            late = here.daemon.host.stations["late"].station
            await here.until(lambda: late.ready, "the old file is listed")
            os.utime(old, (1e9, 2e9))

        async def refuse(victim: Player) -> None:
            (victim.folder / "Game_link.slp").symlink_to("/etc/hostname")

        acts = {
            Scanned: add_station, Settled: add_station, Touched: touch_old_file, Lost: lose, Refused: refuse,
        }  # fmt: skip
        for kind in get_args(TailEvent):
            act = acts.get(kind)
            of_station = kind in (Scanned, Settled, Touched)

            def bug(station: str, kind: Any = kind, of_station: bool = of_station) -> Any:
                if kind is Grew:
                    return bug_in(Following, "feed", station=station)
                reactions: Any = Following.REACTIONS
                return bug_in(reactions, kind, station="late" if of_station else station)

            early = kind in (Opened, CaughtUp)
            part = "station" if of_station else "file"
            victim = await here.play(f"tail event {kind.__name__}", part, bug, act, early=early)
            if of_station:
                late = here.daemon.host.stations["late"].station
                await here.until(lambda late=late: late.ready, "the station works again")  # type: ignore[misc]
            elif kind is not Refused:
                await here.until(lambda victim=victim: bool(told(victim)), f"told of {kind.__name__}")  # type: ignore[misc]
                assert b"Game_" in told(victim)[-1]
        await here.until(lambda: here.daemon.host.errors.restarting() != [], "named by /readyz")


STAGES: list[tuple[Any, str]] = [
    (SlippiReader, "feed"),
    (SlippiReader, "take_command_counts"),
    (pipeline.Pipeline, "feed"),
    (pipeline.Pipeline, "rewrite"),
    (SlippiStats, "finish"),
    (pipeline, "content_of"),
    (SlippiStats, "feed"),
    (FollowedFiles, "update_index"),
    (FollowedFile, "release"),
    (GrowingLogReader, "keep"),
    (DescribedGame, "record"),
    (publishing, "Game"),
    (GameIndex, "played"),
    (Channel, "publish"),
    (StationCounters, "count"),
    (ReplayCheck, "published"),
    (ReplayCheck, "released"),
    (FolderTail, "release"),
]
EARLY = {"Game", "keep"}
"""Stages reached only at the beginning of a game."""


def in_the_event_loop(*_: object) -> bool:
    """Whether this thread follows a file. Outputs that lag reread the files of their station in other threads."""
    return threading.current_thread() is threading.main_thread()


@pytest.mark.release
async def test_bug_in_any_pipeline_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.game.log_reader._SLICES_PER_KEPT", 0)  # the games are short
    async with venue(tmp_path) as here:
        for owner, name in STAGES:

            def bug(station: str, owner: Any = owner, name: str = name) -> Any:
                return bug_in(owner, name, station=station, times=1, when=in_the_event_loop)

            victim = await here.play(f"{owner.__name__}.{name}", "file", bug, early=name in EARLY)
            if (owner, name) == (pipeline.Pipeline, "feed"):
                reason = here.daemon.host.stations[victim.station].station.describe()["reason"]
                assert reason.startswith("internal error ")


OUTPUTS_OF_A_STATION: list[tuple[str, Any, str]] = [
    ("jsonl", JsonLinesSink, "_write"),
    ("obs", obs, "replace_file"),
    ("webhook", webhook, "timestamp"),
]
SHARED_TASKS: list[tuple[str, Any, str]] = [
    # First, because a bracket that restarts after its bugs makes sets too.
    ("sets", Channel, "publish_set"),
    ("webhook", WebhookSink, "set_changed"),
    ("obs", ObsFiles, "set_changed"),
    ("chat", ChatSink, "set_changed"),
    ("scoreboard", FollowedStation, "set_changed"),
    ("playback", ConfiguredDolphin, "set_changed"),
    ("bracket", ConfiguredBracket, "set_changed"),
    ("situations", LiveSituations, "feed"),
    ("index", Games, "add"),
    ("replay_check", replay_check, "of_name"),
    ("audit", setup_audit, "newest_setups"),
    ("controllers", ControllerCheck, "take"),
    ("handover", ReplayZips, "set_changed"),
    ("upkeep", trio.lowlevel, "current_statistics"),
]


@pytest.mark.release
async def test_bug_in_any_output_and_shared_task(tmp_path: Path) -> None:
    async with venue(tmp_path) as here:
        for part, owner, name in OUTPUTS_OF_A_STATION:
            bug: Callable[[str], Any] = lambda station, owner=owner, name=name: bug_in(owner, name, station=station)  # type: ignore[misc] # noqa: E731
            await here.play(f"{owner.__name__}.{name}", part, bug)
            assert any(part in reason for reason in here.daemon.served.not_ready())
        for part, owner, name in SHARED_TASKS:
            await here.play(f"{owner.__name__}.{name}", part, partial(once, owner, name))

        async def add_old_file(_: Player) -> None:
            old = tmp_path / "old" / "Game_old.slp"
            old.parent.mkdir()
            old.write_bytes(synthetic_match(seed=5, frames=10))
            os.utime(old, (1e9, 1e9))
            assert await here.daemon.host.stations.add(StationConfig(id="old", folder=str(old.parent)))

        await here.play("old_files.read_entry", "index", partial(once, old_files, "read_entry"), add_old_file)
        for player in here.players:
            jsonl = tmp_path / "jsonl" / player.station / f"{player.game_id}.jsonl"
            state, hook = tmp_path / "obs" / player.station / "state.json", here.receiver.received["/hook"]
            works: dict[str, Callable[[], bool]] = {
                "jsonl": jsonl.exists,
                "obs": lambda state=state, player=player: player.game_id in state.read_text(),  # type: ignore[misc]
                "webhook": lambda hook=hook, player=player: any(  # type: ignore[misc]
                    (each["type"], each["gameId"]) == ("game_end", player.game_id) for each in hook
                ),
            }
            for part, is_working in works.items():
                await here.until(is_working, f"{part} works again, also for {player.station}")


@pytest.mark.release
async def test_bug_in_the_broker_sink(tmp_path: Path) -> None:
    """In the end, the broker has each message once, including those of the station with the bug."""
    with redis() as server:
        async with (
            broker_client(server.url) as client,
            venue(tmp_path, fanout=[Fanout(url=server.url, event="bugs")]) as here,
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

            with bug_in(broker_sink, "entry_id", station=here.next_victim.station) as raised:
                victim = await here.play("entry_id", "broker", lambda _: nullcontext(raised), early=True)
                await until_in_broker([player for player in here.players if player is not victim], "entry_id")
                assert await in_broker(victim) == []
                assert any("broker" in reason for reason in here.daemon.served.not_ready())
            await until_in_broker(here.players, "entry_id")
            for name in ("note", "min_ordinal"):
                await here.play(name, "broker", partial(once, broker_sink.OutgoingLog, name), early=True)
                await until_in_broker(here.players, name)


@pytest.mark.release
async def test_bug_in_the_announcement(tmp_path: Path) -> None:
    """Nothing is announced, and the announcement is retried with pauses."""
    with bug_in(DnsSd, "_announce") as raised:
        async with venue(tmp_path, announce=[Announce(dns_sd=True)]) as here:
            await here.play("DnsSd._announce", "announce", lambda _: nullcontext(raised))
            assert any("announce" in reason for reason in here.daemon.served.not_ready())
            assert raised[0] > 1


async def test_every_part_has_a_row() -> None:
    assert {row.part for row in ROWS} == {*CORE_LABELS, *registry.labels()}
