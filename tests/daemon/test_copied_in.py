"""While a game is written in real time, 150 finished replays are copied into a subfolder of its station.

Everything that shows the station must stay with the live game, its frames must keep coming, and the next game must be
seen at once, although reading all the copies takes minutes.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from slpstream.simulate.bundled import as_another_game
from tests.bench.games import FIRST_FRAME, EndlessGame
from tests.daemons.process import DaemonProcess, running
from tests.synthetic.match import synthetic_match
from tests.synthetic.roster import LINE_UP

COPIES = 150
PLAYED_FRAMES = 600
MAX_SILENCE_SECONDS = 1.0
MAX_SECONDS_TO_NEXT = 1.0


class Game:
    """A game that is written into a file, a frame every sixtieth of a second."""

    def __init__(self, path: Path, seed: int, count: int) -> None:
        self.written: dict[int, float] = {}
        """The time at which each frame was written, by its number."""
        self._path = path
        self._seed = seed
        self._count = count
        self._game = EndlessGame()
        self.thread = threading.Thread(target=self._write, daemon=True)

    def _write(self) -> None:
        with self._path.open("xb", buffering=0) as file:
            file.write(self._game.head(self._seed))
            began = time.monotonic()
            for index in range(self._count):
                time.sleep(max(0.0, began + index / 60 - time.monotonic()))
                self.written[FIRST_FRAME + index] = time.monotonic()
                file.write(self._game.frame(index))
            self._game.end(file)


class LiveSubscriber:
    """A conflating subscriber, as the overlay is: which games it is sent, and when each frame comes."""

    def __init__(self, url: str) -> None:
        self.games: list[str] = []
        self.received: dict[tuple[str, int], float] = {}
        self._url = url
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with connect(self._url, max_size=None, close_timeout=0.3) as connection:
            while not self._leaving.is_set():
                with suppress(TimeoutError):
                    self._take(json.loads(connection.recv(timeout=0.2)), time.monotonic())

    def _take(self, message: dict[str, Any], now: float) -> None:
        game_id = message.get("gameId")
        if message["type"] in ("station", "set") or game_id is None:
            return
        if game_id not in self.games:
            self.games.append(game_id)
        if message["type"] == "frame":
            self.received.setdefault((game_id, message["frame"]["frame"]), now)

    def close(self) -> None:
        self._leaving.set()
        self._thread.join(timeout=5)


def make_copies(folder: Path) -> None:
    """Write games of other players, each as many games."""
    folder.mkdir()
    bases = [synthetic_match(seed=seed, frames=1200, characters=LINE_UP[seed:]) for seed in (1, 2)]
    for number, data in zip(range(COPIES), itertools.cycle(bases), strict=False):
        started_at = datetime(2025, 1, 1, tzinfo=UTC)
        path = folder / f"Game_{number:03}.slp"
        path.write_bytes(as_another_game(data, random_seed=1_000_000 + number, started_at=started_at))


def current(daemon: DaemonProcess) -> tuple[str, str | None]:
    station: dict[str, Any] = daemon.get("/v1/stations")["stations"][0]
    return station["state"], station.get("game", {}).get("gameId")


def set_games(daemon: DaemonProcess) -> tuple[set[str], str | None]:
    """The games of the station's set, and the one that is being played."""
    played = daemon.get("/v1/stations/station/set")
    return {game["gameId"] for game in played["games"]}, played.get("gameId")


@pytest.mark.release
def test_station_stays_with_the_live_game_while_replays_are_copied_in(tmp_path: Path) -> None:
    folder, outside, obs = tmp_path / "station", tmp_path / "outside", tmp_path / "obs"
    folder.mkdir()
    make_copies(outside)
    config = tmp_path / "slpstream.toml"
    config.write_text(f'[obs]\nfolder = "{obs}"\n')
    live, following = Game(folder / "Game_live.slp", 1, PLAYED_FRAMES), Game(folder / "Game_next.slp", 2, 120)
    with running(folder, arguments=("--config", str(config))) as daemon:
        daemon.wait_ready()
        subscriber = LiveSubscriber(daemon.stream_url(station="station"))
        live.thread.start()
        daemon.until(lambda: current(daemon)[0] == "playing" and bool(subscriber.games))
        state = current(daemon)
        daemon.until(lambda: set_games(daemon) == ({state[1]}, state[1]))
        time.sleep(1.0)
        copying = subprocess.Popen(["cp", "-r", str(outside), str(folder / "old")])
        seen, sets, written_files = set(), [], set()
        while live.thread.is_alive():
            if current(daemon) == state:
                found = set_games(daemon)
                if current(daemon) == state:  # still
                    sets.append(found)
            seen.add(current(daemon))
            files = json.loads((obs / "station" / "state.json").read_text())
            written_files.add((files["state"], files["gameId"], (obs / "station" / "state.txt").read_text()))
            time.sleep(0.2)
        assert copying.wait(timeout=60) == 0
        assert daemon.get("/v1/stations/station")["files"]["inProgress"] > 1, "the copies are not all read yet"
        # The last state is that of the game that has just ended.
        assert seen <= {state, ("idle", state[1])}
        assert written_files <= {("playing", state[1], "playing"), ("idle", state[1], "idle")}
        assert subscriber.games == [state[1]]
        daemon.until(lambda: current(daemon) == ("idle", state[1]))
        assert sets == [({state[1]}, state[1])] * len(sets)

        began = time.monotonic()
        following.thread.start()
        daemon.until(lambda: current(daemon) not in (("idle", state[1]), state))
        seconds_to_next = time.monotonic() - began
        following.thread.join()
        subscriber.close()
        assert len(subscriber.games) == 2
    delays = sorted(
        subscriber.received[str(state[1]), number] - written
        for number, written in live.written.items()
        if (state[1], number) in subscriber.received
    )
    arrivals = sorted(at for (game_id, _), at in subscriber.received.items() if game_id == state[1])
    silence = max(later - earlier for earlier, later in itertools.pairwise(arrivals))
    print(
        f"frames {len(delays)} of {len(live.written)}, delay p50 {delays[len(delays) // 2] * 1e3:.1f} ms, "
        f"longest silence {silence * 1e3:.0f} ms, next game {seconds_to_next * 1e3:.0f} ms"
    )
    assert len(delays) > 0.9 * PLAYED_FRAMES
    assert silence < MAX_SILENCE_SECONDS
    assert seconds_to_next < MAX_SECONDS_TO_NEXT
