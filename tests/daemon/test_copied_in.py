"""While a game is played, finished replays are copied into a subfolder of its station.

Everything that shows the station must stay with the live game, and the next game must be seen.
"""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from slpstream.simulate.bundled import as_another_game
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import configured
from tests.replays import replay
from tests.synthetic.match import synthetic_match

COPIES = 40


def test_station_stays_with_the_live_game_while_replays_are_copied_in(tmp_path: Path) -> None:
    folder, outside, obs = tmp_path / "station", tmp_path / "outside", tmp_path / "obs"
    for path in (folder, outside):
        path.mkdir()
    # Other players: a running game without a time of its own counts as one of the set that its players played before.
    copied, started_at = replay("names_3.9"), datetime(2025, 1, 1, tzinfo=UTC)
    for number in range(COPIES):
        data = as_another_game(copied, random_seed=number, started_at=started_at)
        (outside / f"Game_{number:03}.slp").write_bytes(data)
    live, following = (
        PlayedGame(folder / f"Game_{seed}.slp", synthetic_match(seed=seed, frames=3000, rollbacks=True))
        for seed in (1, 2)
    )
    with (
        configured(tmp_path, f'[obs]\nfolder = "{obs}"\n', folder) as daemon,
        connect(daemon.stream_url(station="station", topics="game"), max_size=None) as socket,
    ):

        def shown() -> dict[str, Any]:
            station = daemon.get("/v1/stations")["stations"][0]
            played = daemon.get("/v1/stations/station/set")
            files = json.loads((obs / "station" / "state.json").read_text())
            return {
                "station": (station["state"], station.get("game", {}).get("gameId")),
                "set": (played.get("gameId"), [game["gameId"] for game in played["games"]]),
                "files": (files["state"], files["gameId"]),
            }

        def playing(game: PlayedGame, *before: PlayedGame) -> dict[str, Any]:
            now = ("playing", game.game_id)
            return {"station": now, "set": (game.game_id, [each.game_id for each in (*before, game)]), "files": now}

        live.write(20_000)
        daemon.until(lambda: shown() == playing(live))
        copying = subprocess.Popen(["cp", "-r", str(outside), str(folder / "old")])
        while daemon.get("/v1/stations/station")["files"]["finished"] < COPIES:
            live.write(300)
            assert shown() == playing(live)
        assert copying.wait() == 0
        live.end()
        daemon.until(lambda: shown()["station"] == ("idle", live.game_id))
        following.write(20_000)
        daemon.until(lambda: shown()["station"] == ("playing", following.game_id))
        games: list[str] = []
        while following.game_id not in games:
            message = json.loads(socket.recv(timeout=30))
            if message["type"] == "game_start":
                games.append(message["gameId"])
        assert set(games) == {live.game_id, following.game_id}
