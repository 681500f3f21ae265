"""Two ingest daemons, three gateways, a hundred subscribers and one broker; each process is killed in turn.

Every subscriber must receive the lines of `dump`, each exactly once and in order, although processes are killed and the
broker writes to its disk only once a second. A subscriber whose connection ends moves to the next gateway with the
cursor of its last message. `SLPSTREAM_SURVIVAL_ROUNDS=10` plays and kills for longer.
"""

from __future__ import annotations

import os
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError

import pytest

from slpstream.model.messages import FramesMode
from tests.daemons.process import DaemonProcess
from tests.daemons.simulated import dump_lines, simulate
from tests.redis.crowd import Crowd, Follower
from tests.redis.redis_process import free_port, redis
from tests.synthetic.match import synthetic_match

ROUNDS = int(os.environ.get("SLPSTREAM_SURVIVAL_ROUNDS", "1"))
SUBSCRIBERS = 100
FRAMES = 360
SPEED = 2.0
STATIONS = ("one", "two")
MODES: tuple[FramesMode, ...] = ("live", "finalized")
_TIMEOUT_SECONDS = 120.0


class Venue:
    """A venue with one station: its folder, its configuration, its daemon."""

    def __init__(self, station: str, root: Path, url: str) -> None:
        self.station = station
        self.folder = root / station
        self.folder.mkdir()
        self.state = root / f"{station}-state"
        self.state.mkdir()
        self.config = root / f"{station}.toml"
        self.config.write_text(
            f'[fanout]\nurl = "{url}"\nevent = "test"\n[[stations]]\nid = "{station}"\nfolder = "{self.folder}"\n'
        )
        self.daemon: DaemonProcess | None = None

    def start(self) -> None:
        self.daemon = DaemonProcess(arguments=("--config", str(self.config), "--port", "0"), state=self.state)

    def kill(self) -> None:
        if self.daemon is not None and self.daemon.process.poll() is None:
            self.daemon.kill()


class GatewayPort:
    """A gateway that keeps its port when it is started again."""

    def __init__(self, url: str) -> None:
        self.port = free_port()
        self._arguments = ("--url", url, "--event", "test", "--port", str(self.port))
        self.process: DaemonProcess | None = None

    def start(self) -> None:
        self.process = DaemonProcess(arguments=self._arguments, subcommand="gateway")

    def kill(self) -> None:
        if self.process is not None and self.process.process.poll() is None:
            self.process.kill()

    def wait_ready(self) -> None:
        process = self.process
        assert process is not None
        process.until(lambda: len(process.get("/v1/stations")["stations"]) == len(STATIONS))


def matches(root: Path, station: str, number: int) -> list[Path]:
    """Write the games of one station, outside its folder."""
    paths = [root / f"Game_{station}_{game}.slp" for game in range(2 * number)]
    for game, path in enumerate(paths):
        seed = 100 * STATIONS.index(station) + game
        path.write_bytes(synthetic_match(seed=seed, rollbacks=True, items=True, frames=FRAMES))
    return paths


def with_station(lines: list[bytes], station: str) -> list[bytes]:
    """Lines as subscribers receive them, with the station."""
    return [line.replace(b',"gameId"', b',"station":"%b","gameId"' % station.encode(), 1) for line in lines]


def play(venues: list[Venue], games: dict[str, list[Path]], number: int) -> list[subprocess.Popen[bytes]]:
    return [simulate(games[venue.station][number], venue.folder, writer="dolphin", speed=SPEED) for venue in venues]


def compare(ingests: list[DaemonProcess], gateway: GatewayPort) -> None:
    """Check that a gateway responds like the daemons at the venues, but without replay files, and without what only
    these see: when a game arrived and ended, and its last percents and stocks."""
    served = gateway.process
    assert served is not None
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


def stop(writers: list[subprocess.Popen[bytes]]) -> None:
    for writer in writers:
        writer.kill()


def test_messages_arrive_once_and_in_order_despite_kills(tmp_path: Path) -> None:
    games = {station: matches(tmp_path, station, ROUNDS) for station in STATIONS}
    expected = {
        (station, mode): [with_station(dump_lines(game, mode), station) for game in games[station]]
        for station in STATIONS
        for mode in MODES
    }
    kinds = list(expected)
    followers = [
        Follower(*kinds[number % len(kinds)], expected[kinds[number % len(kinds)]], number // len(kinds))
        for number in range(SUBSCRIBERS)
    ]
    with ExitStack() as stack:
        broker = stack.enter_context(redis("--appendonly", "yes", "--appendfsync", "everysec"))
        venues = [Venue(station, tmp_path, broker.url) for station in STATIONS]
        gateways = [GatewayPort(broker.url) for _ in range(3)]
        for venue in venues:
            stack.callback(venue.kill)
        for gateway in gateways:
            stack.callback(gateway.kill)
        pool = stack.enter_context(ThreadPoolExecutor())
        list(pool.map(lambda process: process.start(), (*venues, *gateways)))
        for gateway in gateways:
            gateway.wait_ready()
        crowd = stack.enter_context(Crowd(followers, [gateway.port for gateway in gateways]))
        while not all(follower.connections for follower in followers):
            time.sleep(0.05)
        writers: list[subprocess.Popen[bytes]] = []
        starting: list[Future[None]] = []
        stack.callback(lambda: stop(writers))
        for number in range(ROUNDS):
            begin = 2 * number
            writers[:] = play(venues, games, 2 * number)
            crowd.wait(begin + 0.2, _TIMEOUT_SECONDS)
            broker.kill()
            time.sleep(0.5)
            broker.start()
            crowd.wait(begin + 0.5, _TIMEOUT_SECONDS)
            gateways[0].kill()
            starting.append(pool.submit(gateways[0].start))
            crowd.wait(begin + 0.8, _TIMEOUT_SECONDS)
            venues[0].kill()
            for writer in writers:  # this game ends and the next one begins while the ingest is down
                writer.wait(timeout=_TIMEOUT_SECONDS)
            writers[:] = play(venues, games, 2 * number + 1)
            time.sleep(0.5)
            venues[0].start()
            crowd.wait(begin + 1.3, _TIMEOUT_SECONDS)
            gateways[1].kill()
            starting.append(pool.submit(gateways[1].start))
            crowd.wait(begin + 1.6, _TIMEOUT_SECONDS)
            gateways[2].kill()
            starting.append(pool.submit(gateways[2].start))
            crowd.wait(begin + 2, _TIMEOUT_SECONDS)
            for writer in writers:
                writer.wait(timeout=_TIMEOUT_SECONDS)
        for start in starting:
            start.result()
        time.sleep(0.5)  # time for messages that are sent twice by mistake
        assert not [follower.wrong for follower in followers if follower.wrong]
        assert all(follower.received == len(follower.expected) for follower in followers)
        assert all(follower.connections > 1 for follower in followers)
        running = [venue.daemon for venue in venues if venue.daemon is not None]
        for process in running:
            process.until(lambda p=process: "slpstream_broker_connected 1.0" in p.text("/metrics"))  # type: ignore[misc]
        compare(running, gateways[0])
        running += [gateway.process for gateway in gateways if gateway.process is not None]
        assert list(pool.map(lambda process: process.terminate(), running)) == [0] * 5
