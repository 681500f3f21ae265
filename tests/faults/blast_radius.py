"""Bugs, injected one at a time into a daemon with 16 stations: the part that ends, and the effect on other stations.

A bug is an exception that is raised instead of one function of slpstream, for one station if the function belongs to a
station. Meanwhile, each station plays a game. The subscribers of the other stations must receive their games exactly,
the daemon must survive, and the error must be counted for the expected part.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import structlog
import trio
from websockets.exceptions import ConnectionClosed
from websockets.trio.client import connect

from slpstream.config import Config, Server, StationConfig, Store, Watch
from slpstream.config.sections import Recordings
from slpstream.daemon.daemon import Daemon
from slpstream.formats.slippi.edited import as_another_game
from slpstream.parts.bracket.part import Bracket
from slpstream.parts.chat.part import Chat
from slpstream.parts.controllers.part import Controllers
from slpstream.parts.handover.part import Handover
from slpstream.parts.jsonl.part import JsonLines
from slpstream.parts.playback_dolphin.part import Playback
from slpstream.parts.scoreboards.part import Scoreboard
from slpstream.parts.situations.part import Situation
from slpstream.parts.text_files.part import ObsFolder
from slpstream.parts.verify.part import Verify
from slpstream.parts.webhooks.part import Webhook
from slpstream.system import logs
from tests.daemons.played_game import PlayedGame
from tests.faults.scene import TOPICS, log_lines
from tests.parts.http_server import Response, serving
from tests.synthetic.match import synthetic_match

STATIONS = 16
TIMEOUT_SECONDS = 30.0
_STARTED_AT = datetime(2026, 3, 14, tzinfo=UTC)
_FRAMES = 40


class Bug(Exception):
    """The exception that is injected. No part of slpstream expects it."""


class Row(NamedTuple):
    """One row of the table: the work that a bug in a part of slpstream ends."""

    part: str
    """The part's label in the counter of errors."""
    where: str
    lost: str


ROWS = (
    Row("request", "answering an HTTP request", "this request: status 500, or the connection breaks off"),
    Row("stream", "a websocket or an event stream", "this connection: close code 1011"),
    Row("subscriber", "sending to one subscriber", "this subscription: close code 1011"),
    Row(
        "file",
        "an event of the tail, the pipeline, the index record, the relay",
        "the live messages of this file, until it changes and is read again",
    ),
    Row("station", "the tasks of a station, outside of any file", "a second or more, caught up"),
    Row("jsonl", "JSON lines of a station", "nothing: the file goes on where it ended"),
    Row("scoreboard", "a scoreboard", "a second of updates"),
    Row("obs", "files for OBS of a station, and OBS over its websocket", "a second of updates"),
    Row("controllers", "the check of a station's controllers", "a second or more, caught up"),
    Row("playback", "what the Playback Dolphin shows", "a second or more, until it is started again"),
    Row("odds", "the odds of a game", "the response"),
    Row("bugreport", "the lines of the log that are kept for bug reports", "a line"),
    Row("bracket", "reports to the bracket", "nothing: results wait"),
    Row("handover", "writing the zips of sets", "nothing: sets wait"),
    Row("webhook", "a webhook", "nothing: deliveries wait"),
    Row("chat", "a chat", "nothing: messages wait"),
    Row("broker", "the broker sink", "nothing: messages are sent later"),
    Row("sets", "the set of a station", "this update of the set"),
    Row("situations", "looking for the situations of a station", "nothing: the games are searched again"),
    Row("index", "the index of games", "this entry, until the next scan or `reindex`"),
    Row("replay_check", "the check of finished games", "this check"),
    Row("retention", "limits by age and size", "a round, which is done again"),
    Row("archives", "finding archives in watched folders", "a second or more"),
    Row("subfolders", "finding stations in subfolders", "a second or more"),
    Row("discovery", "finding consoles", "a second or more"),
    Row("announce", "announcing the daemon or a relayed station", "a second or more, until it goes on"),
    Row("console", "recording a console", "the connection, which is made again"),
    Row("relay", "the relay ports of a station", "the connections of its clients"),
    Row("notifications", "watching a folder", "promptness: the folder is polled"),
    Row("reload", "reading the configuration again", "the reload"),
    Row("director", "choosing the large station", "a second or more, in which the same station stays large"),
    Row("on_air", "choosing the station on air", "a second or more, in which the same station stays on air"),
    Row("seats", "names that players claim", "a second or more, caught up"),
    Row("audit", "the comparison of setups", "a second or more, caught up"),
    Row("upkeep", "figures and memory of the process", "a round, which is done again"),
)
"""The rows about parts in docs/reference/faults.md."""


def section() -> str:
    """The section of docs/reference/faults.md about bugs."""
    rows = [f"| `{row.part}` | {row.where} | {row.lost} |" for row in ROWS]
    return "\n".join(
        [
            _SECTION,
            "| part | where the bug is | what is lost |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    )


_SECTION = """## Bugs

A bug in slpstream, which is any exception that is not expected, ends only the part that it is in, and other parts miss
nothing. The table lists the parts as `slpstream_internal_errors_total` counts them. Only what all parts share can end
the daemon: the listening sockets, the event loop, signals and the watchdog. With `--strict`, as in the tests, every bug
does.

Exceptions were raised in every HTTP endpoint, in streams, for every kind of tail event, in every stage of the pipeline,
and in most other parts, while 16 stations played games: each time, the subscribers of the other 15 stations received
every message, byte for byte and in order (`uv run pytest --all tests/faults/test_blast_radius.py`). Every part that is
started again was also made to fail in the middle of its work, and worked again (`tests/faults/test_restarts.py`).
"""


class Player:
    """Writes games into the folder of one station, and receives its messages over a lossless websocket."""

    def __init__(self, station: str, folder: Path) -> None:
        self.station = station
        self.folder = folder
        self.game_id = ""
        self.expected: list[bytes] = []
        self.statuses: list[bytes] = []
        self.closed: list[int] = []
        self._received: dict[str, list[bytes]] = {}
        self._cursor = "start"

    @property
    def lines(self) -> list[bytes]:
        """The messages received of the current game."""
        return self._received.get(self.game_id, [])

    def begin(self, data: bytes, number: int) -> None:
        """Write the first half of a game. Its header has no length yet."""
        self._game = PlayedGame(self.folder / f"Game_{number:06}.slp", data)
        self._game.write(len(data) // 2)
        self.expected = log_lines(data)
        self.game_id = self._game.game_id

    def finish(self) -> None:
        """Write the rest of the game, and then the length in its header."""
        self._game.end()

    async def follow(self, port: int) -> None:
        """Receive until cancelled. Reconnects with the last cursor."""
        mark = b'"station":"%b",' % self.station.encode()
        while True:
            url = f"ws://127.0.0.1:{port}/v1/stream?station={self.station}&topics={TOPICS}&delivery=lossless"
            try:
                async with connect(
                    f"{url}&cursor={self._cursor}", proxy=None, ping_interval=None, compression=None, max_size=None
                ) as websocket:
                    while True:
                        self._take(await websocket.recv(decode=False), mark)
            except ConnectionClosed as closed:
                if closed.rcvd is not None:
                    self.closed.append(closed.rcvd.code)
            await trio.sleep(0.02)

    def _take(self, line: bytes, mark: bytes) -> None:
        cursor = re.search(rb'"cursor":"([^"]+)"', line[:300])
        if cursor is None or line.startswith(b'{"type":"snapshot"'):
            self.statuses.append(line)
        else:
            self._cursor = cursor[1].decode()
            self._received.setdefault(self._cursor.partition("/")[0], []).append(line.replace(mark, b"", 1))


@contextmanager
def bug_in(
    owner: Any, name: str, *, station: str | None = None, times: int = 10**9, when: Callable[..., bool] | None = None
) -> Iterator[list[int]]:
    """Raise instead of a function, for one station or for all. Yields a list with the number of raised exceptions."""
    raised = [0]
    original = owner[name] if isinstance(owner, dict) else inspect.getattr_static(owner, name)

    def raises(*arguments: Any) -> bool:
        bound = structlog.contextvars.get_contextvars().get("station")
        if raised[0] >= times or (station is not None and bound != station):
            return False
        if when is not None and not when(*arguments):
            return False
        raised[0] += 1
        return True

    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def replaced_async(*arguments: Any, **options: Any) -> Any:
            if raises(*arguments):
                raise Bug(name)
            return await original(*arguments, **options)

        replaced: Any = replaced_async
    else:

        @functools.wraps(original)
        def replaced_sync(*arguments: Any, **options: Any) -> Any:
            if raises(*arguments):
                raise Bug(name)
            return original(*arguments, **options)

        replaced = replaced_sync
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(owner, dict):
            patch.setitem(owner, name, replaced)
        else:
            patch.setattr(owner, name, replaced)
        yield raised


class Receiver:
    """A chat, a webhook and a bracket on one HTTP server, which keep the received bodies."""

    def __init__(self) -> None:
        self.received: dict[str, list[Any]] = {"/chat": [], "/hook": [], "/bracket": []}

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Keep a body under the path to which it was posted."""
        self.received[path].append(json.loads(body))
        return Response(204)


class Venue:
    """A daemon with 16 stations, each with a player."""

    def __init__(self, folder: Path, daemon: Daemon, players: list[Player], receiver: Receiver) -> None:
        self.folder = folder
        self.daemon = daemon
        self.players = players
        self.receiver = receiver
        self.port = 0
        self._games = 0
        self._bugs = 0
        self._match = synthetic_match(seed=17, frames=_FRAMES)

    def counted(self, part: str) -> float:
        """The number of counted errors of a part."""
        page = self.daemon.host.metrics.render(["slpstream_internal_errors_total"]).decode()
        (value,) = re.findall(rf'^slpstream_internal_errors_total{{part="{part}"}} (\S+)$', page, re.MULTILINE)
        return float(value)

    @property
    def next_victim(self) -> Player:
        """The player of the station that gets the next bug."""
        return self.players[self._bugs % STATIONS]

    def _new_game(self) -> bytes:
        """A match with a unique random seed, and therefore a unique id."""
        self._games += 1
        return as_another_game(self._match, random_seed=self._games, started_at=_STARTED_AT)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition is true."""
        with trio.move_on_after(TIMEOUT_SECONDS) as scope:
            while not condition():
                await trio.sleep(0.005)
        assert not scope.cancelled_caught, what

    async def play(
        self,
        where: str,
        part: str,
        bug: Callable[[str], contextlib.AbstractContextManager[list[int]]],
        act: Callable[[Player], Awaitable[object]] | None = None,
        *,
        early: bool = False,
    ) -> Player:
        """Play a game in each station, and inject a bug at half-time, or before the game if `early`.

        `bug` is called with the name of the affected station, and `act` while the bug is injected. Returns the player
        of this station.
        """
        victim = self.next_victim
        self._bugs += 1
        others = [player for player in self.players if player is not victim]
        before = self.counted(part)
        if not early:
            await self._begin([*others, victim])
        with bug(victim.station) as raised:
            if early:
                await self._begin([*others, victim], others)
            if act is not None:
                await act(victim)
            for player in self.players:
                player.finish()
            await self.until(lambda: raised[0] > 0, f"{where}: the bug is reached")
            await self.until(lambda: self.counted(part) > before, f"{where}: the error is counted as {part}")
            for player in others:
                await self.until(
                    lambda player=player: len(player.lines) >= len(player.expected),  # type: ignore[misc]
                    f"{where}: {player.station} receives its game",
                )
        for player in others:
            assert player.lines == player.expected, f"{where}: {player.station}"
        return victim

    async def _begin(self, players: Sequence[Player], waiting: Sequence[Player] | None = None) -> None:
        """Write the first half of a game in each station, and wait until subscribers receive messages."""
        for player in players:
            player.begin(self._new_game(), self._games)
        for player in players if waiting is None else waiting:
            await self.until(lambda player=player: bool(player.lines), "the first half arrives")  # type: ignore[misc]


@asynccontextmanager
async def venue(folder: Path, **changes: Sequence[msgspec.Struct]) -> AsyncIterator[Venue]:
    """Run a daemon with 16 stations and all outputs, and a subscriber for each. `changes` are sections of parts."""
    temporary = contextlib.ExitStack()
    stations: list[StationConfig] = []
    players: list[Player] = []
    for number in range(STATIONS):
        name = f"s{number:02}"
        (folder / name).mkdir()
        stations.append(StationConfig(id=name, folder=str(folder / name)))
        players.append(Player(name, folder / name))
    secret = folder / "secret"
    secret.write_text("x" * 32)
    url, receiver = folder / "url", Receiver()
    address = temporary.enter_context(serving(receiver.respond))
    url.write_text(f"{address}/chat")
    config = Config(
        server=Server(port=0),
        store=Store(folder=str(folder / "state")),
        recordings=Recordings(folder=str(folder / "recordings")),
        watch=Watch(scan_seconds=0.5),
        parts={
            "bracket": [Bracket(kind="webhook", url=f"{address}/bracket", token_file=str(secret), report=True)],
            "handover": [Handover(folder=str(folder / "zips"))],
            "playback": [Playback(file=str(folder / "playback.txt"), station="s00")],
            "controllers": [Controllers(check=True)],
            "verify": [Verify(finished_games=True)],
            "jsonl": [JsonLines(folder=str(folder / "jsonl"))],
            "webhooks": [Webhook(url=f"{address}/hook", secret_file=str(secret))],
            "chat": [Chat(url_file=str(url))],
            "situations": [Situation(name="kill", query="kill")],
            "scoreboards": [Scoreboard(kind="text", station="s00", path=str(folder / "scoreboard"))],
            "obs": [ObsFolder(folder=str(folder / "obs"))],
            **changes,
        },
    )
    daemon = Daemon(config, stations, strict=False)
    here = Venue(folder, daemon, players, receiver)
    with temporary, (folder / "log").open("w") as log:
        logs.configure("json", "info", log)
        try:
            async with trio.open_nursery() as nursery:
                here.port = await nursery.start(
                    lambda task_status: daemon.run(handle_signals=False, task_status=task_status)
                )
                await here.until(lambda: all(station.ready for station in daemon.host.stations.stations), "ready")
                async with trio.open_nursery() as following:
                    for player in players:
                        following.start_soon(player.follow, here.port)
                    await here.until(lambda: all(player.statuses for player in players), "all are subscribed")
                    yield here
                    following.cancel_scope.cancel()
                daemon.stop()
        finally:
            structlog.reset_defaults()
