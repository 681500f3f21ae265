"""A daemon with something to see on every page: a finished set, a game that is being played, and an announced set."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.daemons.process import DaemonProcess, running
from tests.synthetic.match import synthetic_match
from tests.web.test_scenes_boards import GAMES, add_game


@contextmanager
def whole_site(folder: Path) -> Iterator[DaemonProcess]:
    """The stations `station`, `playing` and `next`."""
    folders = [folder / name for name in ("station", "playing", "next")]
    for each in folders:
        each.mkdir()
    config = folder / "slpstream.toml"
    config.write_text("[sets]\nbest_of = 5\n")
    with running(*folders, arguments=("--config", str(config))) as daemon:
        daemon.wait_ready()
        for play in range(1, GAMES + 1):
            add_game(folders[0], play)
        (folders[1] / "Game_1.slp").write_bytes(synthetic_match(seed=4, frames=600, ended=False))
        patch = {
            "names": {"0": "Golden Guardians | Zain", "1": "うめき"}, "round": "Grand Final", "event": "Weekly 12",
            "casters": ["Vish", "Toph"], "players": {"0": {"pronouns": "he/him", "seed": 1}},
        }  # fmt: skip
        for name in ("playing", "next"):
            _correct(daemon, name, patch)
        daemon.until(lambda: daemon.get("/v1/stations/station/set").get("state") == "over")
        daemon.until(lambda: daemon.get("/v1/stations/playing/set")["games"] != [])
        yield daemon


def _correct(daemon: DaemonProcess, station: str, patch: dict[str, Any]) -> None:
    request = urllib.request.Request(
        f"{daemon.url}/v1/stations/{station}/set",
        json.dumps(patch).encode(),
        {"content-type": "application/merge-patch+json"},
        method="PATCH",
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 200
