"""Two ingest daemons, three gateways, many subscribers and one broker; each process is killed in turn.

Every subscriber must receive the lines of `dump`, each exactly once and in order, although processes are killed and the
broker writes to its disk only once a second. A subscriber whose connection ends moves to the next gateway with the
cursor of its last message.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from threading import Event
from urllib.error import HTTPError

import pytest
from websockets.exceptions import InvalidHandshake

from slpstream.api import messages
from slpstream.model.messages import FramesMode
from tests.daemons.process import DaemonProcess, LogReader
from tests.daemons.simulated import simulate
from tests.parts.fanout.redis_process import redis
from tests.ports import free_port
from tests.synthetic.match import synthetic_match

FRAMES = 360
SPEED = 2.0
STATIONS = ("one", "two")
MODES: tuple[FramesMode, ...] = ("live", "finalized")
TIMEOUT_SECONDS = 120.0


class Server:
    """An ingest or a gateway that can be killed and restarted."""

    def __init__(self, *arguments: str, subcommand: str = "serve", state: Path | None = None) -> None:
        self._start: Callable[[], DaemonProcess] = lambda: DaemonProcess(
            arguments=arguments, subcommand=subcommand, state=state
        )
        self.process: DaemonProcess

    def start(self) -> None:
        self.process = self._start()

    def kill(self) -> None:
        if self.process.process.poll() is None:
            self.process.kill()


def ingest(station: str, root: Path, url: str) -> Server:
    """The daemon of a venue with one station, named after its folder."""
    (root / station).mkdir()
    state, config = root / f"{station}-state", root / f"{station}.toml"
    state.mkdir()
    config.write_text(
        f'[fanout]\nurl = "{url}"\nevent = "test"\n[[stations]]\nid = "{station}"\nfolder = "{root / station}"\n'
    )
    return Server("--config", str(config), state=state)


class Subscriber:
    """A lossless subscriber of one station, which moves to the next gateway when its connection ends."""

    def __init__(self, station: str, mode: FramesMode, games: list[list[bytes]], gateways: list[Server]) -> None:
        self.expected = [line for game in games for line in game]
        self.reader = LogReader(station, mode)
        self.connections = 0
        self.gateways = gateways
        self._lengths = [len(game) for game in games]

    @property
    def games(self) -> float:
        """Number of games received, including the fraction of the current one."""
        left, games = len(self.reader.lines), 0
        while games < len(self._lengths) and left >= self._lengths[games]:
            left -= self._lengths[games]
            games += 1
        return games + (left / self._lengths[games] if games < len(self._lengths) else 0)

    def follow(self, first: int, over: Event) -> None:
        """Receive messages, starting with this gateway, until the event is set and the gateways end."""
        for number in count(first):
            if over.is_set():
                return
            self.connections += 1
            gateway = self.gateways[number % len(self.gateways)].process
            with suppress(InvalidHandshake):  # it was killed while this subscriber connected
                self.reader.read(gateway, lambda _: False, seconds=TIMEOUT_SECONDS)
            over.wait(0.05)


def compare(ingests: list[DaemonProcess], served: DaemonProcess) -> None:
    """Check that a gateway responds like the daemons at the venues, but without replay files, and without facts known
    only there: the times of a game's arrival and end, and its last percents and stocks."""
    assert served.get("/readyz") == {"status": "ready", "missing": []}
    assert "<html" in served.text("/overlay/one")
    assert served.get("/static/names/slippi/stages.json")["rows"]["31"]["name"] == "Battlefield"
    for station, ingest in zip(STATIONS, ingests, strict=True):
        served.until(lambda s=station, i=ingest: served.get(f"/v1/stations/{s}/set") == i.get(f"/v1/stations/{s}/set"))  # type: ignore[misc]
        at_venue = {game["gameId"]: game for game in ingest.get("/v1/games")["games"]}
        at_gateway = {game["gameId"]: game for game in served.get(f"/v1/games?station={station}")["games"]}
        for game in (*at_venue.values(), *at_gateway.values()):
            for seen in ("arrivedAt", "endedAt", "standings"):
                game.pop(seen, None)
        assert at_gateway == at_venue
        for game_id in at_gateway:
            path = f"/v1/games/{game_id}"
            assert served.get(f"{path}/frames?from=0&to=60") == ingest.get(f"{path}/frames?from=0&to=60")
            assert served.get(f"{path}/stats") == ingest.get(f"{path}/stats")
            with pytest.raises(HTTPError, match="404") as refused:
                served.get(f"{path}/replay")
            refused.value.close()


@pytest.mark.parametrize(
    ("subscribers", "rounds"),
    [pytest.param(8, 1, marks=pytest.mark.slow), pytest.param(100, 2, marks=pytest.mark.release)],
)
def test_messages_arrive_once_and_in_order_despite_kills(tmp_path: Path, subscribers: int, rounds: int) -> None:
    games = {station: [tmp_path / f"Game_{station}_{game}.slp" for game in range(2 * rounds)] for station in STATIONS}
    for number, path in enumerate(path for paths in games.values() for path in paths):
        path.write_bytes(synthetic_match(seed=number, rollbacks=True, items=True, frames=FRAMES))
    expected = {
        (station, mode): [[message.json() for message in messages(game, frames=mode)] for game in games[station]]
        for station in STATIONS
        for mode in MODES
    }
    with ExitStack() as stack:
        broker = stack.enter_context(redis("--appendonly", "yes", "--appendfsync", "everysec"))
        venues = [ingest(station, tmp_path, broker.url) for station in STATIONS]
        at_broker = ("--url", broker.url, "--event", "test")
        gateways = [Server(*at_broker, "--port", str(free_port()), subcommand="gateway") for _ in range(3)]
        servers = [*venues, *gateways]
        pool = stack.enter_context(ThreadPoolExecutor(subscribers + 8))
        list(pool.map(Server.start, servers))
        for server in servers:
            stack.callback(server.kill)
        for gateway in gateways:
            gateway.process.until(lambda g=gateway: len(g.process.get("/v1/stations")["stations"]) == len(STATIONS))  # type: ignore[misc]
        over = Event()
        stack.callback(over.set)
        kinds = list(expected)
        followers = [
            Subscriber(*kinds[number % len(kinds)], expected[kinds[number % len(kinds)]], gateways)
            for number in range(subscribers)
        ]
        following = [pool.submit(each.follow, number, over) for number, each in enumerate(followers)]

        def wait(condition: Callable[[], bool]) -> None:
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while not condition():
                assert time.monotonic() < deadline, sorted(follower.games for follower in followers)
                time.sleep(0.05)

        def until(games: float) -> None:
            wait(lambda: min(follower.games for follower in followers) >= games)

        def play(number: int) -> list[subprocess.Popen[bytes]]:
            return [
                simulate(games[station][number], tmp_path / station, writer="dolphin", speed=SPEED)
                for station in STATIONS
            ]

        wait(lambda: all(follower.connections for follower in followers))
        starting = []
        for begin in range(0, 2 * rounds, 2):
            writers = play(begin)
            until(begin + 0.2)
            broker.kill()
            time.sleep(0.5)
            broker.start()
            until(begin + 0.5)
            gateways[0].kill()
            starting.append(pool.submit(gateways[0].start))
            until(begin + 0.8)
            venues[0].kill()
            for writer in writers:  # this game ends and the next one begins while the ingest is down
                writer.wait(timeout=TIMEOUT_SECONDS)
            writers = play(begin + 1)
            time.sleep(0.5)
            venues[0].start()
            until(begin + 1.3)
            gateways[1].kill()
            starting.append(pool.submit(gateways[1].start))
            until(begin + 1.6)
            gateways[2].kill()
            starting.append(pool.submit(gateways[2].start))
            until(begin + 2)
            for writer in writers:
                writer.wait(timeout=TIMEOUT_SECONDS)
        for start in starting:
            start.result(TIMEOUT_SECONDS)
        time.sleep(0.5)  # time for messages sent twice by mistake
        for follower in followers:
            assert follower.reader.lines == follower.expected
        wait(lambda: all(follower.connections > 1 for follower in followers))
        for venue in venues:
            venue.process.until(lambda v=venue: "slpstream_broker_connected 1.0" in v.process.text("/metrics"))  # type: ignore[misc]
        compare([venue.process for venue in venues], gateways[0].process)
        over.set()
        assert [server.process.terminate() for server in servers] == [0] * 5
        for each in following:
            each.result(TIMEOUT_SECONDS)
