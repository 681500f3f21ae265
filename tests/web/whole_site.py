"""A daemon with content on every page: a finished set, a paused game, and an announced set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import correct_set
from tests.sets.bundled_set import GAMES, add_game
from tests.synthetic.match import synthetic_match


@contextmanager
def whole_site(folder: Path) -> Iterator[DaemonProcess]:
    """The stations `station`, `playing` and `next`."""
    folders = [folder / name for name in ("station", "playing", "next")]
    for each in folders:
        each.mkdir()
    with running(*folders, arguments=configuration(folder, "[sets]\nbest_of = 5\n")) as daemon:
        daemon.wait_ready()
        for play in range(1, GAMES + 1):
            add_game(folders[0], play)
        (folders[1] / "Game_1.slp").write_bytes(synthetic_match(seed=4, frames=600, ended=False))
        patch = {
            "names": {"0": "Golden Guardians | Zain", "1": "うめき"}, "round": "Grand Final", "event": "Weekly 12",
            "casters": ["Vish", "Toph"], "players": {"0": {"pronouns": "he/him", "seed": 1}},
        }  # fmt: skip
        for name in ("playing", "next"):
            correct_set(daemon, name, patch)
        daemon.until(lambda: daemon.get("/v1/stations/station/set").get("state") == "over")
        daemon.until(lambda: daemon.get("/v1/stations/playing/set")["games"] != [])
        # The dashboard leaves the first-run page while a game is being played.
        daemon.until(lambda: daemon.get("/v1/stations/playing")["state"] != "playing")
        yield daemon
